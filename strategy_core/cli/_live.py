"""`--live`: the page beside a program, served by a process of its own."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

from strategy_core.cli.ui import has_browser
from strategy_core.processes.free_port import free_port
from strategy_core.processes.import_path import module_command, with_own_code

HOST = "127.0.0.1"
TOKEN_VARIABLE = "STRATEGY_LAB_TOKEN"  # also in app.access.policy, which the core may not import


def open_live_page(run: Path) -> None:
    """Start a server for the folder of a run, and print and open the run's page.

    It ends after this process does, unless a page is open. It is in a session of its own, so that
    Ctrl-C ends the program alone. Raises LabError if no port is free.
    """
    port, folder = free_port(HOST), run.resolve()
    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(32)
    command = [*module_command("strategy_lab.app"), "--host", HOST, "--port", str(port)]
    command += ["--runs", str(folder.parent), "--run", folder.name, "--beside", str(os.getpid())]
    if has_browser(os.environ):
        command.append("--open-browser")
    subprocess.Popen(
        command,
        env=with_own_code(os.environ) | {TOKEN_VARIABLE: token},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    query = urlencode({"run": folder.name, "token": token})
    print(f"strategy-lab: live at http://{HOST}:{port}/?{query}", file=sys.stderr, flush=True)
