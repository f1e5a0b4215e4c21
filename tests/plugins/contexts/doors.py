"""What tests/doors and others ask of this leaf: its files, its verb, its pages and its routes."""

from __future__ import annotations

from tests.doors.guards import NAME, TEXT, TO_READ, TO_WRITE

OWN = "a file that comes with the lab"
SELF = "what this process has just written"
CHILD = "what a process says that the lab has started"
OPENS = {
    "strategy_contexts/__main__.py": CHILD,
    "strategy_contexts/course.py": OWN,
    "strategy_contexts/guard.py": CHILD,
    "strategy_contexts/lecture/pages.py": OWN,
    "strategy_contexts/lecture/recording.py": OWN,
    "strategy_contexts/lecture/ship.py": SELF,
    "strategy_contexts/record.py": "the program's own file, in the program",
    "strategy_contexts/ship.py": SELF,
    "strategy_contexts/shipped.py": OWN,
    "strategy_contexts/stepper/page.py": OWN,
}
INPUTS = {"strategy_contexts/page.py": 1}
GUARDS = {
    "contexts": {
        "program": (TO_READ, ".py"),
        "--output": (TO_WRITE, ""),
        "--strategy": (NAME, ""),
        "--devices": (TEXT, ""),
    }
}
NEEDED = {"contexts": {"program": "all_reduce_and_gradients"}}
IMPORTED = {"contexts": "jinja2 pydantic yaml"}
READING = ("contexts",)
QUERIES: dict[str, dict[str, str]] = {"/contexts": {}}
PAGES: dict[str, list[tuple[str, dict[str, str]]]] = {"no run": [("contexts", {})]}
ROUTES: dict[str, dict[str, str]] = {
    "/lecture": {},
    "/api/lecture": {"seen": "0"},
    "/api/lecture/picture": {},
    "/api/lecture/{command}": {},
}
WAITS = {"/api/lecture": "seen"}
