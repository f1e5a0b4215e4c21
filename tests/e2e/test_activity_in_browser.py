"""The live page says what a run is busy with, in a line that keeps its place when it is empty."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from strategy_lab.profiles.run.event_log import EventLog
from strategy_lab.profiles.run.events import SegmentOpened, StepDone
from strategy_lab.profiles.run.layout import worker_folder
from tests.e2e.conftest import Server
from tests.growing_run import begin_run

pytestmark = pytest.mark.browser
SHOTS = os.environ.get("ACTIVITY_SHOTS")


def write(run: Path, *events: SegmentOpened | StepDone) -> None:
    log = EventLog(worker_folder(run, 0).events)
    for event in events:
        log.write(event)
    log.close()


def test_tracing_a_changed_step_is_told_and_then_a_capture(
    open_page: Callable[..., Page], server: Server
) -> None:
    run = begin_run(server.fresh("busy"), steps=12)
    page = open_page(server.address(run=run.name))
    doing = page.locator(".live .doing")
    expect(page.locator(".live .chip")).to_have_text("Running")
    expect(doing).to_have_text("")
    height = doing.bounding_box()
    spec = {"strategy": "mirrored", "devices": "cpu:2", "steps": 50}
    write(run, SegmentOpened(1, "mirrored", 2, 1, 256, 12, 0, ["a", "b"], "auto", spec))
    expect(doing).to_have_text("Tracing and compiling the first step of this configuration.")
    assert doing.bounding_box() == height, "nothing below it moves"
    shoot(page, "tracing")
    write(run, StepDone(1, 12, 0, 10.0, 0.5, 256, False), StepDone(1, 13, 0, 9.0, 0.5, 256, True))
    expect(doing).to_have_text("Capturing step 13 in full.")
    write(run, StepDone(1, 14, 0, 10.0, 0.5, 256, False))
    expect(doing).to_have_text("Converting the capture of step 13 while training continues.")


def shoot(page: Page, name: str) -> None:
    """For looking at: only where a folder for it is named."""
    if not SHOTS:
        return
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in (1600, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(500)
            page.screenshot(path=f"{SHOTS}/{name}-{scheme}-{width}.png")
