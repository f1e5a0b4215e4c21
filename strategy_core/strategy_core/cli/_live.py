"""The page beside a program: of a lab that runs already, or of a server of its own."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from urllib.parse import urlencode

from strategy_core.cli.ui import has_browser
from strategy_core.processes.free_port import free_port
from strategy_core.processes.running_labs import HOST, address_of, start_server


def open_live_page(run: Path) -> None:
    """Print and open the page of a run: in the lab that runs for its folder, or in a new one.

    Raises LabError if no port is free.
    """
    runs, query = run.resolve().parent, {"run": run.name}
    address = address_of(runs)
    when = ""
    if address is None:
        when = " (once its server has started, in some seconds)"
        options = ["--run", run.name]
        if has_browser(os.environ):
            options.append("--open-browser")
        address = start_server(runs, free_port(HOST), options)
    elif has_browser(os.environ):
        # The browser in which that lab is open has its cookie; a command line is no place for the
        # token.
        webbrowser.open(f"{address.partition('?')[0]}?{urlencode(query)}")
    joint = "&" if "?" in address else "?"
    link = f"{address}{joint}{urlencode(query)}"
    print(f"strategy-lab: live at {link}{when}", file=sys.stderr, flush=True)
