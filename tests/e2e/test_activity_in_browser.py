"""The live page says what a run is busy with, in a line that keeps its place when it is empty."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from strategy_profiles import load
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import (
    CommandAnswered,
    CommandSent,
    EpochEnded,
    EpochEnding,
    Event,
    Launched,
    SegmentOpened,
    StepDone,
)
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.liveness import process_started_ns
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until
from tests.growing_run import begin_run, end_run, write_by_launcher

pytestmark = pytest.mark.browser
INKED_AT_THE_RIGHT = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(canvas.width * 0.8, 0, 60, canvas.height);
    let inked = 0;
    for (let at = 3; at < data.length; at += 4) if (data[at] > 4) inked += 1;
    return inked;
}"""
"""Pixels that are drawn on near the right end of a chart: the edges of thin stripes are faint."""
SHOTS = os.environ.get("ACTIVITY_SHOTS")


def write(run: Path, *events: Event, generation: int = 0) -> None:
    log = EventLog(worker_folder(run, 0, generation).events)
    for event in events:
        log.write(event)
    log.close()


def test_the_pill_names_the_tracing_of_a_changed_step_and_then_a_capture(
    open_page: Callable[..., Page], server: Server
) -> None:
    run = begin_run(server.fresh("busy"), steps=12)
    page = open_page(server.address(run=run.name))
    doing = page.locator(".live .doing")
    expect(page.locator(".live .chip")).to_have_text("Running")
    height = doing.bounding_box()
    spec = {"strategy": "mirrored", "devices": "cpu:2", "steps": 50}
    write(run, SegmentOpened(1, "mirrored", 2, 1, 256, 12, 0, ["a", "b"], "auto", spec))
    expect(page.locator(".live .chip")).to_have_text("Compiling")
    expect(doing).to_contain_text("Tracing and compiling the first step of this configuration.")
    assert doing.bounding_box() == height, "nothing below it moves"
    shoot(page, "tracing")
    write(run, step(1, 12), step(1, 13, captured=True))
    expect(doing).to_have_text("Capturing step 13 in full.")
    write(run, step(1, 14))
    expect(doing).to_have_text("Converting the capture of step 13 while training continues.")


def test_the_pill_says_what_a_run_does_while_no_step_comes(
    open_page: Callable[..., Page], server: Server
) -> None:
    """A change, the age of the last step, a restart with its first step's usual length, Stop."""
    server.write_run("usual", steps=12, windows=0)
    run = begin_run(server.fresh("silent"), steps=12)
    page = open_page(server.address(run=run.name))
    chip, doing = page.locator(".live .chip"), page.locator(".live .doing")
    expect(chip).to_have_text("Running")
    expect(doing).to_contain_text(re.compile(r"The last step ended \d+ s ago"))
    expect(chip).to_have_attribute("data-late", "")
    write_by_launcher(run, CommandSent(1, "reconfigure", {"global_batch_size": 64}))
    expect(chip).to_have_text("Changing")
    write(run, CommandAnswered(1, "reconfigure", "applied", 12), step(0, 12))
    expect(chip).to_have_text("Running")
    begun_ns = process_started_ns(os.getpid())
    assert begun_ns is not None
    write_by_launcher(run, Launched(0, 1, os.getpid(), begun_ns, False))
    expect(chip).to_have_text("Starting")
    expect(doing).to_contain_text("New processes start from the last checkpoint.")
    spec = load(server.runs / "usual").segments[0].spec
    opened = SegmentOpened(1, "mirrored", 4, 1, 256, 13, 0, list("abcd"), "auto", spec)
    write(run, opened, generation=1)
    expect(chip).to_have_text("Compiling")
    expect(doing).to_contain_text(re.compile(r"\d s so far; an earlier run took \d+ s"))
    shoot(page, "compiling")
    write_by_launcher(run, CommandSent(2, "stop"))
    expect(chip).to_have_text("Stopping")
    end_run(run)


def test_the_end_of_an_epoch_is_named_while_it_lasts_and_hatched_on_the_charts(
    open_page: Callable[..., Page], server: Server
) -> None:
    run = begin_run(server.fresh("epoch-ends"), steps=2)
    page = open_page(server.address(run=run.name))
    chip, doing = page.locator(".live .chip"), page.locator(".live .doing")
    expect(chip).to_have_text("Running")
    wall = page.locator(".live canvas[data-chart=wall]")
    wait_until(page, lambda: wall.evaluate(INKED_AT_THE_RIGHT), "no chart is drawn")
    plain = wall.evaluate(INKED_AT_THE_RIGHT)
    write(run, step(0, 2), EpochEnding(doing="validation"))
    expect(chip).to_have_text("Between epochs")
    expect(doing).to_have_text(
        re.compile(r"^Keras's fit validates after .* epoch\. The last step ended \d+ s ago\.$")
    )
    write(run, EpochEnding(doing="next_epoch"))
    expect(doing).to_have_text(
        re.compile(r"^Keras's fit waits for .* next epoch\. The last step ended \d+ s ago\.$")
    )

    def is_hatched() -> bool:
        return bool(wall.evaluate(INKED_AT_THE_RIGHT) > 4 * plain)

    wait_until(page, is_hatched, "what lasts is not hatched")
    begun_ns = time.time_ns()
    ended = EpochEnded(segment=0, step=2, start_ns=begun_ns, wall_ms=9000.0, validation_ms=8500.0)
    write(run, ended, StepDone(0, 3, begun_ns + 9_000_000_000, 10.0, 0.5, 256, captured=False))
    expect(chip).to_have_text("Running")
    wait_until(page, is_hatched, "the end of the epoch is not hatched")
    about_axis = page.locator(".live .where")
    expect(about_axis).not_to_contain_text("hatched")
    short_ns = begun_ns + 10_000_000_000
    ended = EpochEnded(segment=0, step=3, start_ns=short_ns, wall_ms=300.0)
    write(run, ended, StepDone(0, 4, short_ns + 300_000_000, 10.0, 0.5, 256, captured=False))
    expect(about_axis).to_contain_text("hatched: ends of epochs, without steps")
    end_run(run)


def step(segment: int, number: int, *, captured: bool = False) -> StepDone:
    return StepDone(segment, number, time.time_ns(), 10.0, 0.5, 256, captured)


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
