"""`%strategy_lab`: the lab for the runs of a notebook, in a page of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit

from strategy_core.processes.free_port import free_port
from strategy_core.processes.running_labs import HOST, address_of, start_server

COLAB = "google.colab"

_started: dict[Path, str] = {}
"""Address by folder of runs: a second `%strategy_lab` names the same lab."""


def open_page(runs: Path) -> None:
    """Start a lab that ends with the kernel, unless one runs, and show where it is.

    In Colab its window opens through Colab's port helper. Raises LabError if no port is free.
    """
    folder = runs.resolve()
    if COLAB in sys.modules:
        _open_in_colab(folder)
        return
    address = address_of(folder) or _started.get(folder)
    if address is None:
        address = _started[folder] = start_server(folder, free_port(HOST))
    print(f"strategy-lab: the page of {runs} is at {address}")


def _open_in_colab(folder: Path) -> None:
    output = sys.modules[COLAB].output
    if folder not in _started:
        port = free_port(HOST)
        # The name under which Colab's proxy serves this port to the browser.
        name = urlsplit(output.eval_js(f"google.colab.kernel.proxyPort({port})")).netloc
        _started[folder] = start_server(folder, port, ["--allow-host", name])
    parts = urlsplit(_started[folder])
    output.serve_kernel_port_as_window(parts.port, path=f"/?{parts.query}")
