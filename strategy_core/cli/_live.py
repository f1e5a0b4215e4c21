"""The page beside a program: of a lab that runs already, or of a server of its own."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

from strategy_core.cli.ui import has_browser
from strategy_core.processes.free_port import free_port
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_core.processes.running_labs import address_of

HOST = "127.0.0.1"
TOKEN_VARIABLE = "STRATEGY_LAB_TOKEN"  # also in app.access.policy, which the core may not import


def open_live_page(run: Path) -> None:
    """Print and open the page of a run: in the lab that runs for its folder, or in a new one.

    Raises LabError if no port is free.
    """
    runs, shown = run.resolve().parent, {"run": run.name}
    address = address_of(runs)
    if address is None:
        options = ["--run", run.name]
        if has_browser(os.environ):
            options.append("--open-browser")
        address = start_server(runs, free_port(HOST), options)
    elif has_browser(os.environ):
        # The browser in which that lab is open has its cookie; a command line is no place for the
        # token.
        webbrowser.open(f"{address.partition('?')[0]}?{urlencode(shown)}")
    joint = "&" if "?" in address else "?"
    told = f"{address}{joint}{urlencode(shown)}"
    print(f"strategy-lab: live at {told}", file=sys.stderr, flush=True)


def start_server(runs: Path, port: int, options: Sequence[str] = ()) -> str:
    """Start a lab for a folder of runs, and return its address with the token.

    It ends after this process does, unless a page is open. It is in a session of its own, so that
    Ctrl-C ends this process alone.
    """
    token = os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(32)
    command = [*module_command("strategy_lab.app"), "--host", HOST, "--port", str(port)]
    subprocess.Popen(
        [*command, "--runs", str(runs.resolve()), "--beside", str(os.getpid()), *options],
        env=with_own_code(os.environ) | {TOKEN_VARIABLE: token},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return f"http://{HOST}:{port}/?{urlencode({'token': token})}"
