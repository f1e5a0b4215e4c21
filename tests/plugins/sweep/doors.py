"""What tests/doors and others ask of this leaf: its files, the arguments of its verb, its page."""

from __future__ import annotations

from pathlib import Path

from strategy_sweep.record import save
from tests.doors.guards import NAME, SPEC, TO_READ, TO_WRITE
from tests.plugins.sweep.made_sweep import made_sweep, played

OPENS = {"strategy_sweep/sweeping.py": "it is locked, not read"}
GUARDS = {
    "sweep": {
        **SPEC,
        "--vary": (TO_READ, ".yaml"),
        "--resume": (NAME, ""),
        "--show": (NAME, ""),
        "--runs": (TO_WRITE, ""),
        "--markdown": (TO_WRITE, ""),
        "--csv": (TO_WRITE, ""),
    }
}
CHECKED_LATER = {("sweep", "--markdown"), ("sweep", "--csv")}  # at the end
NEEDED = {"sweep": {"runs": "NEW"}}
PROBES = "strategy_sweep.verb.probe"
"""What asks for the devices of the machine."""
NEEDS = {"sweep": "tensorflow"}
IMPORTED = {"sweep": "numpy pyarrow pydantic rich yaml strategy_profiles.analysis.advice.registry"}
NEW = {"sweep": "New sweep"}
QUERIES = {"/sweep": NEW}
PAGES = {"no run": [("sweep", {"sweep": "sweep-1"})], "a run": [("sweep", NEW)]}
"""Two that follow each other have other titles, by which a test sees that the page is another."""


def make_pages(runs: Path) -> None:
    """What the pages show."""
    save(played(made_sweep(4), lambda turn: 100.0 + 30 * turn.configuration), runs)
