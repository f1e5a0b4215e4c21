"""What tests/doors and others ask of this leaf: its files and its routes."""

from __future__ import annotations

OPENS = {
    "strategy_contexts.lecture/pages.py": "a file that comes with the lab",
    "strategy_contexts.lecture/recording.py": "a file that comes with the lab",
    "strategy_contexts.lecture/ship.py": "what this process has just written",
}
ROUTES: dict[str, dict[str, str]] = {
    "/lecture": {},
    "/api/lecture": {"seen": "0"},
    "/api/lecture/picture": {},
    "/api/lecture/{command}": {},
}
WAITS = {"/api/lecture": "seen"}
