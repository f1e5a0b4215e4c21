"""What tests/doors and others ask of this leaf: its file, its texts, its verb, its page."""

from __future__ import annotations

from strategy_scaling.link import link_of
from tests.doors.guards import NAME, TEXT, TO_READ

OPENS = {"strategy_scaling/link.py": "bounded by its reader"}
INPUTS = {"strategy_scaling/own_link.py": 2}
TEXTS = {"a file of predict --link": lambda text: link_of(text.encode(errors="replace"), text)}
GUARDS = {
    "predict": {
        "run_folders": (TO_READ, ""),
        "--replicas": (TEXT, ""),
        "--link": (TO_READ, ".toml"),
        "--algorithm": (NAME, ""),
    }
}
NEEDED = {"predict": {"run_folders": "RUN"}}
IMPORTED = {"predict": ""}
PAGES = {
    "a running run, a captured step, and cores": [("scaling", {"run": "axe-captured"})],
    "a run of 16 replicas": [("scaling", {"run": "axe-wide"})],
}
