"""What tests/doors and others ask of this leaf: the arguments of its verbs, and its commands."""

from __future__ import annotations

from pathlib import Path

from strategy_core.cli.main import main
from tests.doors.guards import TEXT, TO_READ, TO_WRITE

GUARDS = {
    "baseline": {"runs": (TO_READ, ""), "--output": (TO_WRITE, "")},
    "gate": {
        "runs": (TO_READ, ""),
        "--baseline": (TO_READ, ""),
        "--allow": (TEXT, ""),
        "--markdown": (TO_WRITE, ""),
        "--benchmark-json": (TO_WRITE, ""),
        "--bencher-json": (TO_WRITE, ""),
    },
}
NEEDED = {
    "baseline": {"runs": "RUN", "output": "NEW"},
    "gate": {"runs": "RUN", "baseline": "BASELINE"},
}
ENVIRONMENT = {"'GITHUB_ACTIONS'": "whether it is set, or equal to a word"}
READING = ("baseline a -o base.json && gate b --baseline base.json --only exact",)
BEFORE_TIMING = ("baseline", "a", "-o", "base.json")
TIMED = {
    "gate of one of them": (0.5, ["gate", "b", "--baseline", "base.json", "--only", "exact"]),
    "gate --help": (0.15, ["gate", "--help"]),
}
OF_A_LARGE_RUN = {"baseline": ["baseline", "RUN", "-o", "NEW"]}
OF_A_RUN = (["baseline", "RUN", "-o", "OWN/baseline.json"],)
WRITING = (
    ["baseline", "OPEN", "-o", "RUNS/baseline.json"],
    ["gate", "OPEN", "--baseline", "BASELINE", "--markdown", "RUNS/report.md"],
)
IMPORTED = {"baseline": "", "gate": ""}
RUNNING = {
    "baseline a -o c.json": "numpy pyarrow pyarrow.dataset",
    "gate b --baseline baseline.json --only exact": "numpy pyarrow pyarrow.dataset rich",
}


def make_files(folder: Path, run: Path) -> dict[str, Path]:
    """The files that these commands name, by the names that they have in this module."""
    file = folder / "baseline.json"
    assert main(["baseline", str(run), "-o", str(file)]) == 0
    return {"BASELINE": file}
