"""`strategy-lab mcp`: serve runs to coding agents; the server replaces this process (exec)."""

from __future__ import annotations

import argparse
import os
import sys

from strategy_core.cli._options import add_runs
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles.extras import Extra
from strategy_profiles.user_input.arguments import whole

EXTRA = Extra("mcp", "mcp.server.mcpserver", "strategy-lab mcp")
HELP = "serve the runs to a coding agent over MCP (Model Context Protocol)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "The agent reads runs, and changes nothing. It talks to this process over stdin and "
        "stdout, or over HTTP on 127.0.0.1 with a token. Needs the extra mcp."
    )
    add_runs(parser)
    parser.add_argument(
        "--allow-run",
        action="store_true",
        help="let the agent start and stop runs: a workload is a program, so it can run code",
    )
    parser.add_argument(
        "--http",
        type=whole,
        metavar="PORT",
        help="serve http://127.0.0.1:PORT/mcp instead of stdin and stdout; 0 for any free port",
    )


def run(args: argparse.Namespace) -> int:
    EXTRA.require()
    command = [*module_command("strategy_mcp"), "--runs", str(args.runs)]
    if args.allow_run:
        command.append("--allow-run")
    if args.http is not None:
        command += ["--http", str(args.http)]
    sys.stdout.flush()
    os.execve(sys.executable, command, with_own_code(os.environ))
