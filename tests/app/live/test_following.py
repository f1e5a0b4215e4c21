"""A page about a live run: drawn once however fast the run grows, and held still on request."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_app.server import opened
from strategy_app.widgets import refresh
from tests.app.looking import open_page, rerun, text_of
from tests.growing_run import add_step, begin_run


@pytest.fixture
def live(tmp_path: Path) -> Path:
    return begin_run(tmp_path / "live", steps=20)


def test_a_run_that_grows_while_it_is_drawn_is_drawn_once(
    live: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    real = refresh.open_run

    def growing(path: Path) -> opened.OpenRun:
        looked.append(path)
        add_step(live, 100 + len(looked))
        return real(path)

    monkeypatch.setattr(refresh, "open_run", growing)
    at = open_page("overview", live.parent, run="live")
    assert "still running" in at.info[0].value
    assert looked == []


def test_new_steps_are_announced_and_shown_when_asked_for(live: Path) -> None:
    at = open_page("overview", live.parent, run="live")
    assert "19 steps" in text_of(at)
    assert at.button("show_what_is_new").label == "Up to date"
    # Held still, the page is drawn from the same state: what is new is looked for in between.
    for step in range(20, 60):
        add_step(live, step)
    rerun(at)
    assert "59 steps" in text_of(at)


@pytest.mark.parametrize("following", [False, True])
def test_a_viewer_chooses_whether_the_page_follows(live: Path, following: bool) -> None:
    at = open_page("overview", live.parent, run="live")
    at.toggle("follow_the_run").set_value(following)
    rerun(at)
    assert "still running" in at.info[0].value
