"""`strategy-lab ui`: the lab in the browser; the server replaces this process (exec)."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping

from strategy_core.cli._options import add_runs
from strategy_core.processes.free_port import FIRST_PORT, free_port
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles.extras import require
from strategy_profiles.ui_options import add_ui_options, as_arguments, given_options
from strategy_profiles.user_input.arguments import address, whole

HELP = "open the lab in the browser"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=whole, help=f"default: the first free one from {FIRST_PORT}")
    add_runs(parser)
    parser.add_argument(
        "--host",
        type=address,
        default="127.0.0.1",
        help="address to listen on (default: %(default)s)",
    )
    parser.add_argument(
        "--no-browser",
        action="store_true",
        help="do not open a browser (the default without a display)",
    )
    parser.add_argument(
        "--no-token",
        action="store_true",
        help="require no token: anyone who reaches the port can use the lab",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME[:PORT]",
        help="another address of the lab in browsers: of a proxy, a tunnel or a mapped port "
        "(repeatable)",
    )
    add_ui_options(parser)


def run(args: argparse.Namespace) -> int:
    require("ui")
    port = args.port if args.port is not None else free_port(args.host)
    # The page is another program on top of this one: started, never imported from here.
    command = [*module_command("strategy_app"), "--host", args.host, "--port", str(port)]
    sys.stdout.flush()
    if not args.no_browser and has_browser(os.environ):
        command.append("--open-browser")
    if args.no_token:
        command.append("--no-token")
    for name in args.allow_host:
        command += ["--allow-host", name]
    command += as_arguments(given_options(args))
    os.execve(sys.executable, [*command, "--runs", str(args.runs)], with_own_code(os.environ))


def has_browser(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a window can be expected: on a desktop, or where BROWSER names a program.

    Elsewhere `webbrowser` would take over the terminal with a text browser, or fail. A session over
    SSH has its person at another screen.
    """
    if environment.get("BROWSER"):
        return True
    if environment.get("CI") or environment.get("SSH_CONNECTION"):
        return False
    if platform in ("darwin", "win32"):
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))
