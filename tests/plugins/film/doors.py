"""What tests/doors and others ask of this leaf: its files, its commands, its pages."""

from __future__ import annotations

OPENS = {"strategy_film/export.py": "a file that comes with the lab"}
READING = ("export a --format film -o film.html",)
OF_A_LARGE_RUN = {"film": ["export", "RUN", "--format", "film", "-o", "NEW"]}
PAGES = {
    "a run": [("film", {"run": "axe-a"})],
    "a running run, a captured step, and cores": [("film", {"run": "axe-captured"})],
    "a run that failed before any step was captured": [("film", {"run": "axe-failed"})],
    "a run of 16 replicas": [("film", {"run": "axe-wide"})],
}
SELF_CONTAINED = ("report/axe-captured/film", "report/axe-wide/film")
