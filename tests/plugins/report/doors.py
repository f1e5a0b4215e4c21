"""What tests/doors and others ask of this leaf: its files, its commands, its route and pages."""

from __future__ import annotations

OPENS = {"strategy_report/page.py": "a file that comes with the lab"}
READING = ("export a --format html -o report.html",)
WRITING = (["export", "OPEN", "--format", "html", "-o", "RUNS/out.html"],)
ROUTES: dict[str, dict[str, str]] = {"/report/{run}": {}}
SELF_CONTAINED = ("report/axe-a", "report/axe-captured", "report/axe-failed", "report/axe-wide")
