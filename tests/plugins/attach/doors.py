"""What tests/doors and others ask of this leaf: its verb."""

from __future__ import annotations

from tests.doors.guards import TEXT, TO_READ, TO_WRITE

GUARDS = {
    "attach": {
        "run_folder": (TO_READ, ""),
        "--output": (TO_WRITE, ""),
        "--runs": (TO_READ, ""),
        "--set": (TEXT, ""),
    }
}
NEEDED = {"attach": {"run_folder": "RUN"}}
CHECKED_LATER = {("attach", "--runs")}  # its own words: nothing waits there
OF_A_RUN = (["attach", "RUN"], ["attach", "--runs", "RUNS"])
IMPORTED = {"attach": "numpy pydantic yaml"}
