"""The live charts draw what was recorded: a stretch without steps is a gap, labels keep apart."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import SegmentOpened, StepDone
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import create_run_file
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until_drawn

pytestmark = pytest.mark.browser
Open = Callable[..., Page]
STEPS = 300
STEP_MS = 10.0
PAINTED = """(canvas, part) => {
    const rows = canvas.height, ratio = canvas.width / canvas.clientWidth;
    const left = 58, right = 10;
    const x = Math.round((left + part * (canvas.clientWidth - left - right)) * ratio);
    const { data } = canvas.getContext("2d").getImageData(x - 3, 0, 7, rows);
    let inked = 0;
    for (let at = 0; at < data.length; at += 4)
        if (data[at + 3] > 100 && data[at + 2] - data[at] > 25) inked += 1;
    return inked;
}"""
"""Pixels of the series' colour, bluish, around a share of the axis; grid lines are grey."""


def write_halves(run: Path, first_step_ms: float) -> None:
    """Two segments of 3 s each; the first step of the second is traced for a while."""
    create_run_file(run, {"strategy": "mirrored", "devices": "cpu:2", "steps": 2 * STEPS})
    log = EventLog(worker_folder(run, 0).events)
    at_ns = time.time_ns()
    for segment in (0, 1):
        spec = {"strategy": "mirrored", "global_batch_size": 8 * (1 + segment)}
        first = STEPS * segment
        log.write(SegmentOpened(segment, "mirrored", 2, 1, 8, first, at_ns, [], "auto", spec))
        for step in range(first, first + STEPS):
            ms = first_step_ms if segment and step == first else STEP_MS
            log.write(StepDone(segment, step, at_ns, ms, 1 / (step + 1), 8, False))
            at_ns += int(ms * 1e6)
    log.close()


def test_a_run_that_ended_without_a_step_says_so_in_place_of_charts(
    open_page: Open, server: Server
) -> None:
    server.write_run("without-steps", steps=0, windows=0, ending="failed")
    page = open_page(server.address(run="without-steps"))
    expect(page.get_by_text("This run recorded no step.")).to_be_visible()
    expect(page.locator(".live .tiles")).to_be_hidden()
    expect(page.locator("canvas[data-chart=wall]")).to_be_hidden()
    expect(page.locator(".lab-headline")).to_contain_text("loss is NaN")


def test_a_chart_without_a_value_is_not_drawn_of_a_run_that_is_over(
    open_page: Open, server: Server
) -> None:
    server.write_run("without-losses", steps=20, windows=0, nan_loss_from=0)
    page = open_page(server.address(run="without-losses"))
    expect(page.locator("canvas[data-chart=throughput]")).to_be_visible()
    expect(page.locator("canvas[data-chart=loss]")).to_be_hidden()


def test_a_stretch_without_steps_is_a_gap(open_page: Open, server: Server) -> None:
    run = server.fresh("stretch")
    write_halves(run, 2000.0)
    page = open_page(server.address(run=run.name))
    expect(page.locator(".live")).to_have_attribute("data-step", str(2 * STEPS - 1))
    for chart in ("loss", "wall", "throughput"):
        canvas = page.locator(f"canvas[data-chart={chart}]")
        before, within, after = (canvas.evaluate(PAINTED, part) for part in (0.2, 0.5, 0.8))
        assert before, chart
        assert after, chart
        assert not within, f"{chart}: 3 s of steps, 2 s of none, 3 s of steps"


def test_of_more_steps_than_are_drawn_the_page_says_how_many_are(
    open_page: Open, server: Server
) -> None:
    run = server.fresh("sampled")
    create_run_file(run, recorded_by="record")
    log = EventLog(worker_folder(run, 0).events)
    now_ns = time.time_ns()
    for step in range(12_000):
        log.write(StepDone(0, step, now_ns + step * 1_000_000, 1.0, 0.5, 8, False))
    log.close()
    page = open_page(server.address(run=run.name))
    expect(page.locator(".live")).to_have_attribute("data-step", "11999")
    expect(page.locator(".live .where")).to_have_text(re.compile(r"dotted: [\d,]+ of [\d,]+ steps"))
    assert page.locator("canvas[data-chart=loss]").evaluate(PAINTED, 0.5)


def test_the_batch_of_a_segment_that_opened_without_a_size_is_that_of_its_largest_step(
    open_page: Open, server: Server
) -> None:
    run = server.fresh("batch-of-steps")
    create_run_file(run, recorded_by="record")
    log = EventLog(worker_folder(run, 0).events)
    now_ns = time.time_ns()
    log.write(SegmentOpened(0, "mirrored", 2, 1, None, 0, now_ns, [], "auto", {}))
    for step, examples in enumerate((48, 48, 16)):
        log.write(StepDone(0, step, now_ns, STEP_MS, None, examples, False))
    log.close()
    page = open_page(server.address(run=run.name))
    expect(page.locator(".live")).to_contain_text("global batch 48")
    expect(page.locator("[data-panel=phases]")).to_be_hidden()


def test_the_axis_is_not_mostly_compilation(open_page: Open, server: Server) -> None:
    run = server.fresh("compiled")
    write_halves(run, 30_000.0)
    page = open_page(server.address(run=run.name))
    expect(page.locator(".live .where")).to_have_text(
        "without the first 33.0 s, in which few steps were done"
    )
    assert page.locator("canvas[data-chart=loss]").evaluate(PAINTED, 0.3)


def test_labels_of_many_segments_keep_apart(open_page: Open, server: Server) -> None:
    changes = [{"replicas": 2 + 2 * (number % 2)} for number in range(12)]
    server.write_run("changed", steps=240, windows=0, segments=changes)
    page = open_page(server.address(run="changed"))
    expect(page.locator(".live")).to_have_attribute("data-segments", "12")
    labels = page.locator(".live .boundaries span")
    expect(labels).to_have_text([str(number) for number in range(12)])
    assert labels.nth(3).get_attribute("title") == "devices cpu:2 → cpu:4"
    for width in (1600, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(server.address("overview", run="changed"))
        wait_until_drawn(page)
        for chart in page.locator(".lab-chart").all():
            boxes = [item.bounding_box() for item in chart.locator(".annotation-text").all()]
            rows = sorted((box["y"] // 8, box["x"], box["width"]) for box in boxes if box)
            for (y, x, room), (next_y, next_x, _) in pairwise(rows):
                assert y != next_y or x + room <= next_x + 1, f"at {width} px"


def test_the_late_replica_has_its_place_among_the_others_in_the_legend(
    open_page: Open, server: Server
) -> None:
    server.write_run("late-in-order", steps=60, windows=1, straggler=(1, 30.0))
    page = open_page(server.address(run="late-in-order"))
    block = page.locator(".live .chart-block", has=page.locator("canvas[data-chart=replicas]"))
    expect(block.locator(".legend span")).to_have_text(
        [re.compile(rf"^replica {replica}") for replica in range(4)]
    )
    news = page.locator(".live .news")
    expect(news).to_contain_text("From step 0: mirrored on 4 replicas.")


def test_the_first_step_has_the_length_that_the_overview_gives_it(
    open_page: Open, server: Server
) -> None:
    run = server.fresh("first-step")
    create_run_file(run, recorded_by="record")
    log = EventLog(worker_folder(run, 0).events)
    now_ns = time.time_ns()
    log.write(SegmentOpened(0, "mirrored", 2, 1, 16, 0, now_ns, [], "auto", {}))
    log.write(StepDone(0, 0, now_ns, 3080.0, None, 16, False))
    between_ns = 3_170_000_000  # the program does something else before the second step
    for step in range(1, 6):
        start_ns = now_ns + between_ns + step * int(STEP_MS * 1e6)
        log.write(StepDone(0, step, start_ns, STEP_MS, None, 16, False))
    log.close()
    page = open_page(server.address(run=run.name))
    expect(page.locator(".live .where")).to_have_text("without the first step, 3,080 ms")


def test_panels_of_an_imported_profile_do_not_blame_the_run(
    open_page: Open, server: Server
) -> None:
    run = server.fresh("imported-live")
    shutil.copytree(Path(__file__).parents[1] / "data" / "imported" / "gpu_gemm", run)
    page = open_page(server.address(run=run.name))
    phases, capture = (page.locator(f"[data-panel={name}]") for name in ("phases", "capture"))
    expect(phases).to_be_hidden()
    expect(capture).to_contain_text("This profile has no steps.")
    expect(capture.locator(".source")).to_have_text("")
