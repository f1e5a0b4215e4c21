"""What the page and the routes share, once per server process: the runs folder and the hub."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from app.hub import Hub

_ANCHOR = "_strategy_lab_state"


@dataclass
class Lab:
    """One server's working parts."""

    runs: Path
    hub: Hub
    host: str = "127.0.0.1"

    def open(self) -> None:
        """Called once the server's event loop runs."""
        self.runs.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Called when the server stops."""
        self.hub.close()


def configure(runs: Path, *, host: str = "127.0.0.1") -> Lab:
    """Make the lab of this process; called by the server before anything else."""
    runs = runs.resolve()
    lab = Lab(runs=runs, hub=Hub(runs), host=host)
    # On `sys`, not in this module: a second import of this module must find the same lab.
    setattr(sys, _ANCHOR, lab)
    return lab


def lab() -> Lab:
    """The lab of this process; made for `./runs` where no server made one."""
    found = getattr(sys, _ANCHOR, None)
    return found if found is not None else configure(Path("runs"))
