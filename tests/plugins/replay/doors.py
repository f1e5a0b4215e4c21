"""What tests/doors and others ask of this leaf: its file, its texts, its verbs, route and pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from strategy_replay.scaling.link import link_of
from tests.doors.guards import NAME, TEXT, TO_READ

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.conftest import Server

_DATA = Path(__file__).parents[2] / "data"

OPENS = {"strategy_replay/scaling/link.py": "bounded by its reader"}
INPUTS = {"strategy_replay/scaling/own_link.py": 2}
TEXTS = {"a file of predict --link": lambda text: link_of(text.encode(errors="replace"), text)}
ROUTES = {"/api/runs/{run}/predicted": {"segment": "0", "edit": "packs=100"}}
GUARDS = {
    "predict": {
        "run_folders": (TO_READ, ""),
        "--replicas": (TEXT, ""),
        "--link": (TO_READ, ".toml"),
        "--algorithm": (NAME, ""),
    },
    "what-if": {
        "run_folder": (TO_READ, ""),
        "--faster": (TEXT, ""),
        "--algorithm": (NAME, ""),
        "--try": (TEXT, ""),
    },
}
NEEDED = {"predict": {"run_folders": "RUN"}, "what-if": {"run_folder": "RUN"}}
OF_A_RUN = (["what-if", "RUN", "--remove-delay"],)
ANSWER_OF_A_RUN = ("what-if", "--without-straggler", "--critical-path", "--json")
READING = (f"what-if {_DATA / 'input_stages'} --faster compute=2",)
IMPORTED = {"predict": "", "what-if": ""}
RUN_PAGES = ("what_if",)
PAGES = {
    "a run": [("what_if", {"run": "axe-a"})],
    "a running run, a captured step, and cores": [
        ("what_if", {"run": "axe-captured"}),
        ("scaling", {"run": "axe-captured"}),
    ],
    "a run of 16 replicas": [("scaling", {"run": "axe-wide"})],
    "a run that failed before any step was captured": [("what_if", {"run": "axe-failed"})],
    "a traced program, an imported profile and servers": [("what_if", {"run": "example-gpu"})],
}


def on_tour(page: Page, server: Server, run: str) -> None:
    """What the tour sees of a run that has captured steps."""
    from playwright.sync_api import expect

    page.goto(server.address("what_if", run=run, segment="0"))
    expect(page.get_by_text("The median captured step takes").first).to_be_visible()
    expect(page.get_by_text("Critical path of the step")).to_be_visible()
