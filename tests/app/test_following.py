"""A page about a live run: drawn once however fast the run grows, and held still on request."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.parts import opened, refresh
from profiles.event_log import EventLog
from profiles.events import Launched, StepDone
from profiles.layout import LAUNCHER_EVENTS
from profiles.liveness import process_started_ns
from tests.app.looking import open_page, rerun, text_of
from tests.synthetic import write_run


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """A run whose worker is this process: it is running as long as the test does."""
    run = write_run(tmp_path / "live", steps=20, windows=0, ending=None, missing=("launcher",))
    started_ns = process_started_ns(os.getpid())
    assert started_ns is not None
    log = EventLog(run / LAUNCHER_EVENTS)
    log.write(Launched(0, 0, os.getpid(), started_ns, from_spare=False))
    log.close()
    events = run / "worker-0-0" / "events.jsonl"
    kept = [line for line in events.read_text().splitlines() if '"environment"' not in line]
    events.write_text("\n".join(kept) + "\n")
    return run


def add_step(run: Path, step: int) -> None:
    log = EventLog(run / "worker-0-0" / "events.jsonl")
    log.write(StepDone(0, step, 0, 10.0, 0.5, 256, captured=False))
    log.close()


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


def test_new_steps_are_there_when_the_page_is_drawn_again(live: Path) -> None:
    at = open_page("overview", live.parent, run="live")
    before = text_of(at)
    for step in range(20, 60):
        add_step(live, step)
    rerun(at)
    assert "19 steps" in before
    assert "59 steps" in text_of(at)


def test_a_viewer_can_hold_the_page_still(live: Path) -> None:
    at = open_page("overview", live.parent, run="live")
    at.toggle[0].set_value(False)
    rerun(at)
    assert "still running" in at.info[0].value
