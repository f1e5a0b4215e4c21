"""The Lab in real Chromium: a real run from Run to its report, and runs that are only watched."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from strategy_profiles.run.command_mailbox import read_commands
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import (
    CommandAnswered,
    Launched,
    SegmentOpened,
    StepDone,
    WorkerStarted,
)
from strategy_profiles.run.layout import launcher_file, worker_folder
from strategy_profiles.run.manifest import create_run_file
from strategy_profiles.spec.run_spec import RunSpec
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until, wait_until_drawn
from tests.e2e.layout_shift import GOOD, layout_shift, watch_layout
from tests.event_records import replace_text
from tests.synthetic import HOSTILE

pytestmark = pytest.mark.browser
Open = Callable[..., Page]
LONG_MS = 200_000
"""Processes import TensorFlow, on a machine that may be busy."""
PRESSED_AGAIN_AFTER_S = 10.0


def live(page: Page) -> Locator:
    """The live view's root: its data attributes tell what it has drawn."""
    return page.locator(".live")


def step_of(page: Page) -> int:
    return int(live(page).get_attribute("data-step") or -1)


def expect_step_after(page: Page, step: int) -> None:
    wait_until(page, lambda: step_of(page) > step, f"no step after {step} was drawn", LONG_MS)


def expect_painted(page: Page, chart: str) -> None:
    """A canvas of the live view shows something."""
    canvas = page.locator(f"canvas[data-chart={chart}]")
    pixels = "getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data"
    look = f"canvas => canvas.width > 0 && canvas.{pixels}.some(value => value)"
    wait_until(page, lambda: canvas.evaluate(look), f"nothing was painted of {chart}")


def press_stop(page: Page) -> None:
    """Press as a person does: until the button says that it was heard, or is gone."""
    # Streamlit has a Stop of its own, and draws ours twice, once for touch.
    stop = page.locator(".st-key-stop_button").get_by_role("button", name="Stop")
    waits = "buttons => buttons.some(button => !button.disabled)"
    again_at = 0.0

    def is_heard() -> bool:
        nonlocal again_at
        if stop.evaluate_all(waits) and time.monotonic() > again_at:
            again_at = time.monotonic() + PRESSED_AGAIN_AFTER_S
            with suppress(PlaywrightTimeout):  # gone just then
                stop.click(timeout=10_000)
        return not stop.evaluate_all(waits)

    wait_until(page, is_heard, "Stop was not heard", LONG_MS)


def stop_what_runs(open_page: Open, server: Server) -> None:
    """The lab has one run at a time: one that a failed test left would be in the way."""
    page = open_page(server.address())
    wait_until_drawn(page)
    if page.locator(".st-key-stop_button").count():
        press_stop(page)
        expect(live(page)).not_to_have_attribute("data-status", "running", timeout=LONG_MS)


@pytest.fixture
def free_lab(open_page: Open, server: Server) -> Iterator[Server]:
    """A lab without a run, and without one afterwards."""
    yield server
    stop_what_runs(open_page, server)


def start_new_configuration(page: Page) -> None:
    """Leave the run that was shown last, if any, for a complete configuration."""
    strategy = page.get_by_role("button", name="MirroredStrategy", exact=True)
    new_run = page.get_by_role("button", name="New run")
    new_run.or_(strategy).first.wait_for()
    if not strategy.count():
        new_run.first.click()
    strategy.wait_for()
    looking = page.get_by_text("TensorFlow is looking for GPUs")
    expect(looking).to_have_count(0, timeout=LONG_MS)
    wait_until_drawn(page)


def press_keys(page: Page, slider: Locator, *keys: str) -> None:
    """Key after key, 400 ms apart by the page's clock however slow the machine is."""
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
    for key in keys:
        slider.press(key)
        page.clock.run_for(400)
    page.clock.resume()


@pytest.fixture(scope="module")
def watched(server: Server) -> Server:
    """Runs of others in the server's folder."""
    server.write_run("seen", steps=300, segments=[{}, {"replicas": 2}])
    server.write_run("failed", steps=30, windows=1, ending="failed")
    server.write_run("many", replicas=16, steps=60, straggler=(11, 20.0))
    server.write_run("hostile", steps=30, windows=1, prefix=HOSTILE, ending="failed")
    return server


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_run_is_shown_with_its_segments(open_page: Open, watched: Server, scheme: str) -> None:
    page = open_page(watched.address(run="seen"), color_scheme=scheme)
    expect(live(page)).to_have_attribute("data-step", "299")
    expect(live(page)).to_have_attribute("data-status", "finished")
    expect(live(page)).to_have_attribute("data-segments", "2")
    expect_painted(page, "replicas")
    ground = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"

    def is_dark() -> bool:
        return sum(map(int, re.findall(r"\d+", page.evaluate(ground))[:3])) < 200

    wait_until(page, lambda: is_dark() == (scheme == "dark"), f"the page is not {scheme}")


def test_the_cursor_moves_by_key_and_is_said(open_page: Open, watched: Server) -> None:
    page = open_page(watched.address(run="seen"))
    expect(live(page)).to_have_attribute("data-step", "299")
    page.locator(".stack").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".live .where")).to_contain_text("step 1 at")
    expect(page.locator(".live [aria-live=polite]")).to_contain_text("ms")
    page.keyboard.press("Escape")
    expect(page.locator(".live .where")).to_have_text("")


ROOM_BELOW = """part => {
    const bottom = (each) => each.getBoundingClientRect().bottom;
    const drawn = [...part.querySelectorAll("[data-testid=stElementContainer]")].map(bottom);
    return bottom(part) - Math.max(...drawn);
}"""


def test_a_page_keeps_its_place_while_its_sidebar_opens(open_page: Open, watched: Server) -> None:
    page = open_page(watched.address("runs"), viewport={"width": 1280, "height": 720})
    watch_layout(page)
    page.goto(watched.address(run="seen"))
    expect(live(page)).to_have_attribute("data-step", "299")
    expect(page.locator(".lab-headline")).to_contain_text("the loop takes")
    wait_until_drawn(page)
    assert layout_shift(page) < GOOD
    assert page.locator(".st-key-cause").evaluate(ROOM_BELOW) < 8, "empty space below the cause"


def test_a_failed_run_says_why(open_page: Open, watched: Server) -> None:
    page = open_page(watched.address(run="failed"))
    expect(page.locator(".lab-headline")).to_contain_text("loss is NaN")


def test_a_run_that_is_over_has_no_tile_without_a_number(open_page: Open, watched: Server) -> None:
    watched.write_run("alone", steps=30, windows=0, strategy="one-device", replicas=1)
    page = open_page(watched.address(run="alone"))
    expect(live(page)).to_have_attribute("data-step", "29")
    expect(page.locator("[data-tile=step_time]")).to_be_visible()
    expect(page.locator("[data-tile=traffic]")).to_be_hidden()
    watched.write_run("no-step", steps=0, windows=0, ending="failed")
    page = open_page(watched.address(run="no-step"))
    expect(page.get_by_text("This run recorded no step.")).to_be_visible()
    expect(page.locator(".tiles")).to_be_hidden()


def test_the_odd_one_of_sixteen_stands_out(open_page: Open, watched: Server) -> None:
    page = open_page(watched.address(run="many"))
    note = page.locator("[data-tile=slowest] .note")
    expect(note).to_have_text("replica 11, later than the others")


def test_replicas_of_a_pod_are_on_its_hosts(open_page: Open, watched: Server) -> None:
    """The coordinator reports all of them, and runs none."""
    run = watched.write_run("pod", steps=60, workers=2, strategy="tpu", straggler=(1, 40.0))
    for worker in range(2):
        event_file = run / f"worker-{worker}-0/events.jsonl"
        replace_text(event_file, "/job:worker/", "/job:host/")
    for file in run.glob("worker-*/window-*/replica_steps.parquet"):  # host N is process N + 1
        rows = pq.read_table(file)
        at = rows.schema.get_field_index("worker")
        process = pc.add(rows["worker"], pa.scalar(1, pa.int32()))
        pq.write_table(rows.set_column(at, rows.schema.field("worker"), process), file)
    page = open_page(watched.address(run="pod"))
    expect(page.locator(".live .what")).to_contain_text("4 replicas of 2 hosts")
    expect(page.locator("[data-tile=slowest] .note")).to_contain_text("replica 1 of worker 1")


def test_text_of_a_run_is_never_markup(open_page: Open, watched: Server) -> None:
    page = open_page(watched.address(run="hostile"))
    page.on("dialog", lambda _dialog: pytest.fail("a run's text was executed"))
    expect(page.locator(".lab-headline")).to_contain_text("<script>alert('x')</script>")
    expect(page.locator(".live .what")).to_contain_text("script>\"&'")


def test_a_run_that_ended_while_it_traced_has_no_step_time(open_page: Open, server: Server) -> None:
    """The first step of a configuration is traced and compiled: 24 s of a step of 20 ms."""
    run = server.write_run("retraced", steps=40, windows=0, ending="stopped")
    log = EventLog(worker_folder(run, 0).events)
    log.write(_segment(1, devices="cpu:2"))
    marks = [(1, 2, 3)] * 2
    log.write(StepDone(1, 40, time.time_ns(), 24_596.0, 0.5, 8, False, None, marks))
    log.close()
    page = open_page(server.address(run=run.name))
    tile = page.locator("[data-tile=step_time]")
    expect(tile.locator(".note")).to_contain_text("only its first step was recorded")
    expect(tile.locator(".value")).to_have_text("–")
    expect(page.locator("[data-panel=phases]")).to_contain_text(
        "the run ended before its second step"
    )


def test_the_page_fits_a_phone(open_page: Open, watched: Server) -> None:
    page = open_page(watched.address(run="seen"), viewport={"width": 420, "height": 900})
    expect(live(page)).to_have_attribute("data-step", "299")
    wait_until_drawn(page)
    width = "document.documentElement.scrollWidth"
    wait_until(page, lambda: page.evaluate(width) <= 420, "the page is wider than a phone")


def test_the_tiles_keep_to_the_page_beside_its_sidebar(open_page: Open, watched: Server) -> None:
    page = open_page(watched.address(run="many"), viewport={"width": 1280, "height": 900})
    expect(live(page)).to_have_attribute("data-step", "59")
    wait_until_drawn(page)
    tiles = page.locator(".tiles")
    beyond = (
        "tiles => [...tiles.children].some("
        "tile => tile.getBoundingClientRect().right > tiles.getBoundingClientRect().right + 1)"
    )
    wait_until(page, lambda: not tiles.evaluate(beyond), "a tile is beyond the page's width")


def test_a_link_to_no_run_says_what_to_do(open_page: Open, server: Server) -> None:
    page = open_page(server.address(run="missing"))
    expect(page.get_by_text("in the runs folder")).to_be_visible()
    page.get_by_role("button", name="New run").click()
    expect(page.get_by_role("button", name="MirroredStrategy", exact=True)).to_be_visible()


def test_the_form_of_a_new_run_has_the_page_to_itself(open_page: Open, server: Server) -> None:
    server.write_run("before", replicas=2, steps=20)
    page = open_page(server.address(run="before"), viewport={"width": 1280, "height": 720})
    expect(page.get_by_test_id("stSidebar")).to_be_visible()
    page.get_by_role("button", name="New run", exact=True).first.click()
    expect(page.get_by_role("button", name="MirroredStrategy", exact=True)).to_be_visible()
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()


@pytest.mark.run
def test_the_form_stays_where_it_is_when_a_reason_appears(
    open_page: Open, free_lab: Server
) -> None:
    page = open_page(free_lab.address(), viewport={"width": 1280, "height": 720})
    start_new_configuration(page)
    batch = page.get_by_role("spinbutton", name="Global batch size")
    before = batch.bounding_box()
    batch.fill("255")
    batch.press("Tab")
    expect(page.get_by_text("Cannot run yet: global_batch_size=255")).to_be_visible()
    assert batch.bounding_box() == before
    page.get_by_role("button", name="Use 256").click()
    expect(page.get_by_text("Cannot run yet")).to_have_count(0)
    assert batch.bounding_box() == before


@pytest.mark.timeout(900)
def test_a_typed_path_is_the_workload_or_refused(
    open_page: Open, free_lab: Server, tmp_path: Path
) -> None:
    page = open_page(free_lab.address())
    start_new_configuration(page)
    workload = page.get_by_role("combobox", name="Workload")
    workload.click()
    for typed, said in (("/nope/x.py", "/nope/x.py"), ("resnet", "There is no workload 'resnet'")):
        workload.click()
        workload.fill(typed)
        workload.press("Enter")
        expect(page.get_by_test_id("stAlert")).to_contain_text(said)
        expect(page.get_by_text("Cannot run yet")).to_be_visible()
    workload.click()
    workload.fill("digits-mlp")
    workload.press("Enter")
    expect(page.get_by_text("Cannot run yet")).to_have_count(0)
    file = tmp_path / "mine.py"
    file.write_text("def build_model(): ...\ndef build_dataset(size, seed): return nothing\n")
    workload.click()
    workload.fill(str(file))
    workload.press("Enter")
    expect(
        page.get_by_text(str(file)).or_(page.locator(f"input[value='{file}']")).first
    ).to_be_visible()
    wait_until_drawn(page)
    page.get_by_role("button", name="Run").filter(has_text="Ctrl").click()
    expect(live(page)).to_have_attribute("data-status", "failed", timeout=LONG_MS)
    cause = page.locator(".st-key-cause")
    for said in ("name 'nothing' is not defined", "mine.py", "Change what the message names"):
        expect(cause).to_contain_text(said)


def test_a_run_that_grows_is_followed_without_a_new_mount(open_page: Open, server: Server) -> None:
    run = server.fresh("growing")
    create_run_file(run, {"strategy": "mirrored", "devices": "cpu:2", "steps": 500})
    log = EventLog(worker_folder(run, 0).events)
    log.write(WorkerStarted(0, 2**22 - 1, time.time_ns(), 0))
    log.write(_segment(0, devices="cpu:2"))
    page = open_page(server.address(run=run.name))
    expect(live(page)).to_have_attribute("data-segments", "1")
    _write_steps(log, 0, range(100))
    expect(live(page)).to_have_attribute("data-step", "99")
    log.write(_segment(1, devices="cpu:4"))
    _write_steps(log, 1, range(100, 200))
    expect(live(page)).to_have_attribute("data-step", "199")
    expect(live(page)).to_have_attribute("data-segments", "2")
    expect(live(page)).to_have_attribute("data-mounts", "1")


def test_moves_of_a_slider_are_one_change_once_the_hand_rests(
    open_page: Open, server: Server
) -> None:
    run = server.fresh("slowed")
    spec = RunSpec(strategy="multi-worker-mirrored", workers=2, devices="cpu:1").to_json()
    create_run_file(run, spec, cluster={"run_id": "x", "tasks": []})
    EventLog(launcher_file(run, 0)).write(Launched(0, 0, 2**22 - 1, 0, False, "a", "b:1", "c"))
    log = EventLog(worker_folder(run, 0).events)
    log.write(_segment(0, **spec))
    page = open_page(server.address(run=run.name), own_context=True)
    slider = page.get_by_role("slider", name="Worker 1 / replica 1")
    slider.wait_for()
    wait_until_drawn(page)
    page.clock.install()
    press_keys(page, slider, "ArrowRight", "ArrowLeft", *6 * ("ArrowRight",))
    expect(page.get_by_text("sent, not yet applied")).to_be_visible()
    (command,) = read_commands(run)
    (delay,) = command.changes["inject"]
    assert (delay["worker"], delay["replica"], delay["ms"]) == (1, 0, 30)
    log.write(CommandAnswered(1, "reconfigure", "applied", 9))
    log.write(_segment(1, **spec | command.changes))
    expect(page.get_by_text("sent, not yet applied")).to_have_count(0)
    press_keys(page, slider, "ArrowRight", "ArrowLeft")
    page.wait_for_timeout(1500)
    assert len(read_commands(run)) == 1, "what is moved back changes nothing"


def _segment(number: int, **spec: Any) -> SegmentOpened:
    now = time.time_ns()
    return SegmentOpened(number, "mirrored", 2, 1, 8, number * 100, now, [], "auto", spec)


def _write_steps(log: EventLog, segment: int, steps: range) -> None:
    for step in steps:
        log.write(StepDone(segment, step, time.time_ns(), 5.0, 1 / (step + 1), 8, False))
