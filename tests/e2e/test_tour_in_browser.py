"""The tour of docs/tour.md in real Chromium, as on a projector: what it says is so, in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from strategy_profiles.exports import formats
from strategy_profiles.reporting.palette import PHASE_COLOURS
from tests.e2e.axe import expect_no_findings
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until, wait_until_drawn
from tests.e2e.following import events
from tests.e2e.layout_shift import every_shift, watch_layout
from tests.e2e.test_changes_while_running import assert_one_run
from tests.e2e.test_lab_in_browser import (
    LONG_MS,
    expect_painted,
    expect_step_after,
    free_lab,
    live,
    press_stop,
    start_new_configuration,
    step_of,
)
from tests.plugins.leaves import from_doors

__all__ = ["free_lab"]

pytestmark = [pytest.mark.browser, pytest.mark.run, pytest.mark.timeout(1800)]
Open = Callable[..., Page]
PROJECTOR = {"width": 1280, "height": 720}
MOST_SHIFT = 0.05
DELAY_MS = 30
AGAIN_AFTER_MS = 10_000
PAGES = {
    "Why": "overview",
    "Steps": "",
    "Timeline": "timeline",
    "Step film": "film",
    "Communication": "communication",
    "Model": "placement",
    "TPU cores": "cores",
    "Learn": "contexts",
}
"""Each page's name in its address."""
PIXELS_OF_ROWS = """(canvas, [colour, rows]) => {
    const context = canvas.getContext("2d");
    const height = canvas.height / rows;
    const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return Array.from({ length: rows }, (_, row) => {
        const at = Math.round((row + 0.25) * height);
        const line = context.getImageData(0, at, canvas.width, 1).data;
        let count = 0;
        for (let pixel = 0; pixel < line.length; pixel += 4)
            if (wanted.every((value, channel) => value === line[pixel + channel])) count++;
        return count / canvas.width;
    });
}"""
"""Share of each row of a chart that has a colour."""


TO_THE_TOP = """sidebar => {
    for (const part of [sidebar, ...sidebar.querySelectorAll("*")]) part.scrollTop = 0;
}"""


def reach(control: Locator) -> Locator:
    """A control that is in sight without scrolling."""
    expect(control).to_be_in_viewport(ratio=0.9)
    return control


def visit(page: Page, link: str) -> None:
    """Another page about the same run, by the header or the row below it, at the top of a page."""
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 0)")
    reach(page.get_by_role("link", name=link, exact=True)).click()
    page.wait_for_url(re.compile(rf"/{PAGES[link]}"))
    wait_until_drawn(page)


@pytest.mark.long
def test_the_tour(open_page: Open, free_lab: Server) -> None:
    page = open_page(free_lab.address(), viewport=PROJECTOR, bypass_csp=True)
    watch_layout(page)
    page.reload()
    start_new_configuration(page)
    run = press_run(page, free_lab)
    slow_a_replica_down(page, run)
    axe_finds_nothing_while_it_runs(page)
    change_while_it_runs(page, run)
    then = stop_and_continue(page, run)
    read_the_pages(page, free_lab, run, then)
    emulate_a_tpu(page)
    lose_a_worker(page, open_page, free_lab)
    step_through_contexts(page)


def press_run(page: Page, server: Server) -> Path:
    """Defaults: every replica's step is on screen, and nothing jumps meanwhile."""
    before = every_shift(page)
    reach(page.get_by_role("button", name="Run").filter(has_text="Ctrl")).click()
    expect(live(page)).to_have_attribute("data-status", "running", timeout=LONG_MS)
    expect_step_after(page, 10)
    expect_painted(page, "loss")
    expect(page.locator(".live .what")).to_contain_text("digits-cnn · mirrored · 4 replicas")
    bars = reach(phases_of_replicas(page))
    wait_until(page, lambda: min(shares(bars, "compute")) > 0, "a replica without a step")
    expect(page.locator(".live .machine")).to_have_text(re.compile(r"[\d.]+ this run, .+ in all"))
    assert every_shift(page) - before < MOST_SHIFT
    return server.runs / str(live(page).get_attribute("data-run"))


def phases_of_replicas(page: Page) -> Locator:
    return page.locator("[data-panel=phases] canvas")


def shares(bars: Locator, phase: str) -> list[float]:
    """The share of each of four rows that has a phase's colour."""
    return list(bars.evaluate(PIXELS_OF_ROWS, [PHASE_COLOURS[phase], 4]))


def slow_a_replica_down(page: Page, run: Path) -> None:
    slider = reach(page.get_by_role("slider", name="Replica 2"))
    for _ in range(DELAY_MS // 5):
        slider.press("ArrowRight")

    def in_force() -> list[tuple[int, float]]:
        spec = events(run, "segment")[-1]["spec"]
        return [(delay["replica"], delay["ms"]) for delay in spec["inject"]]

    wait_until(page, lambda: in_force() == [(2, DELAY_MS)], "not slowed down", LONG_MS)
    expect(page.locator("[data-tile=slowest] .note")).to_contain_text("replica 2")
    bars = reach(phases_of_replicas(page))

    def others_wait() -> bool:
        late, *others = (shares(bars, "wait")[replica] for replica in (2, 0, 1, 3))
        return min(others) > 2 * late

    wait_until(page, others_wait, "the others are not orange")
    assert shares(bars, "delay")[2] > 0


def axe_finds_nothing_while_it_runs(page: Page) -> None:
    """With the controls of a run, in both schemes."""
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        expect_no_findings(page, scheme)


def change_while_it_runs(page: Page, run: Path) -> None:
    """The loss continues: every change found the weights that the steps before it left."""
    sidebar = page.get_by_test_id("stSidebar")
    changes: list[tuple[str, Callable[[], None]]] = [
        ("devices cpu:4 → cpu:2", lambda: fill(sidebar, "Virtual CPU devices", "2")),
        (
            "auto → hierarchical",
            lambda: choose(page, "Cross-device algorithm", "hierarchical-copy"),
        ),
        ("strategy mirrored → central", lambda: choose(page, "Strategy", "CentralStorageStrategy")),
    ]
    for said, change in changes:
        before, segments = step_of(page), len(events(run, "segment"))
        wait_until_drawn(page)
        make(page, change, sidebar.get_by_text(re.compile(said)).first)
        reach(page.get_by_role("button", name="Apply")).click()
        expect(live(page)).to_have_attribute("data-segments", str(segments + 1), timeout=LONG_MS)
        applied = sidebar.get_by_text(re.compile(f"{said}.*applied at step")).first
        expect(applied).to_be_visible(timeout=LONG_MS)
        expect_step_after(page, before)
    expect(sidebar.get_by_role("combobox", name="Cross-device algorithm")).to_be_disabled()
    expect(sidebar.get_by_text("gradients go to the one copy of the variables")).to_be_visible()


def stop_and_continue(page: Page, run: Path) -> Path:
    """Another run from its weights."""
    press_stop(page)
    expect(live(page)).to_have_attribute("data-status", "stopped", timeout=LONG_MS)
    assert_one_run(run)
    assert_loss_continues(run)
    stopped_at = step_of(page)
    reach(page.get_by_role("button", name="Continue from here")).click()
    expect(live(page)).not_to_have_attribute("data-run", run.name, timeout=LONG_MS)
    expect_step_after(page, stopped_at)
    expect(page.get_by_text(f"Continues {run.name} with its weights")).to_be_visible()
    press_stop(page)
    expect(live(page)).to_have_attribute("data-status", "stopped", timeout=LONG_MS)
    return run.with_name(str(live(page).get_attribute("data-run")))


def assert_loss_continues(run: Path) -> None:
    """After each change the loss is near that before it, and not that of new weights."""
    loss = {record["step"]: record["loss"] for record in events(run, "step")}
    untrained = median(list(loss.values())[:3])
    for segment in events(run, "segment")[1:]:
        first = segment["first_step"]
        before = median(loss[step] for step in range(first - 10, first) if step in loss)
        after = median(loss[step] for step in range(first, first + 10) if step in loss)
        assert after - before < 0.3 * (untrained - before), f"segment {segment['segment']}"


def read_the_pages(page: Page, server: Server, run: Path, then: Path) -> None:
    page.goto(server.address("overview", run=run.name))
    wait_until_drawn(page)
    expect(page.locator(".lab-headline")).to_be_in_viewport()
    expect(page.get_by_text("Step time of each replica")).to_be_visible()

    visit(page, "Timeline")
    timeline = page.locator(".timeline")
    expect(timeline).to_have_attribute("data-settled", "yes")
    assert int(timeline.get_attribute("data-spans") or 0) > 0
    reach(page.get_by_role("button", name="Select the step in the middle")).click()
    panel = page.locator(".timeline .range")
    expect(panel.get_by_role("columnheader", name="Replica").first).to_be_visible()
    expect(panel).to_contain_text("Ops by self time")
    expect(page).to_have_url(re.compile("range="))
    keys = page.get_by_role("dialog", name="Keys of the timeline")
    page.keyboard.press("?")
    expect(keys).to_contain_text("Select the step in the middle")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    reach(page.get_by_role("button", name="? keys")).click()
    expect(keys).to_be_visible()
    page.keyboard.press("Escape")

    visit(page, "Step film")
    film = page.frame_locator("iframe")
    reach(film.get_by_role("slider"))
    reach(film.get_by_role("button", name="Play")).click()
    expect(film.locator("#film")).to_have_attribute("data-playing", "true")
    expect(film.locator(".caption")).not_to_be_empty()

    for look in from_doors("on_tour"):
        look(page, server, run.name)
    page.goto(server.address("communication", run=run.name, segment="0"))
    expect(page.get_by_text(re.compile("A step moves")).first).to_be_visible()
    visit(page, "Model")
    expect(page.get_by_text("What the reconfiguration moved")).to_be_visible()

    page.goto(server.address("compare", a=run.name, b=then.name))
    expect(page.locator(".lab-headline")).to_be_in_viewport()
    page.goto(server.address("runs", run=run.name))
    wait_until_drawn(page)
    page.get_by_role("button", name="Copy as …").click()
    expect(page.get_by_text(re.compile("strategy-lab run", re.DOTALL)).first).to_be_visible()
    page.keyboard.press("Escape")
    with page.expect_download(timeout=LONG_MS) as trace:
        page.get_by_role("button", name=re.compile("Download .*trace", re.IGNORECASE)).click()
    assert trace.value.path().stat().st_size > 1000
    if "html" in formats():
        page.goto(f"{server.url}/report/{run.name}")
        expect(page.locator("body")).to_contain_text("digits-cnn")
    page.goto(server.address())


def new_run(page: Page, strategy: str) -> None:
    start_new_configuration(page)
    reach(page.get_by_role("button", name=strategy, exact=True)).click()
    wait_until_drawn(page)


def start(page: Page, steps: int) -> None:
    run = live(page).get_attribute("data-run") if live(page).count() else None
    reach(page.get_by_role("button", name="Run").filter(has_text="Ctrl")).click()
    expect(live(page)).to_have_attribute("data-status", "running", timeout=LONG_MS)
    assert live(page).get_attribute("data-run") != run
    expect_step_after(page, steps)


def emulate_a_tpu(page: Page) -> None:
    """The mesh before the run, and what each core did after it."""
    new_run(page, "TPUStrategy")
    fill(page, "Cores per replica", "2")
    expect(page.get_by_text("One colour per replica")).to_be_visible()
    fill(page, "Split features along axis", "1")
    expect(page.get_by_role("spinbutton", name="Hosts")).to_be_visible()
    start(page, 3)
    press_stop(page)
    expect(live(page)).to_have_attribute("data-status", "stopped", timeout=LONG_MS)
    visit(page, "Model")
    visit(page, "TPU cores")
    expect(page.get_by_text("replicas of 2 cores").first).to_be_visible()
    expect(page.get_by_text("The mesh of cores")).to_be_visible()
    expect(page.get_by_text("ops of the traced step were looked up")).to_be_visible()
    visit(page, "Why")
    visit(page, "Steps")


def lose_a_worker(page: Page, open_page: Open, server: Server) -> None:
    """Three workers share no batch of 256; one of them is killed, and every viewer sees it."""
    new_run(page, "MultiWorkerMirroredStrategy")
    fill(page, "Workers", "3")
    expect(page.get_by_text("Cannot run yet")).to_be_in_viewport()
    reach(page.get_by_role("button", name=re.compile(r"Use \d+"))).click()
    expect(page.get_by_text("Cannot run yet")).to_have_count(0)
    start(page, 3)
    apply_stays_in_sight(page)
    for worker in range(3):
        expect(process(page, worker)).to_contain_text(
            re.compile(r"running, step.*pid \d+", re.DOTALL)
        )
    second = open_page(server.address())
    expect(process(second, 2)).to_contain_text("running, step", timeout=LONG_MS)
    kill = process(page, 1).locator("button.kill")
    kill.click()
    expect(kill).to_have_text("Really kill worker 1?")
    # The question goes away by itself, and this machine may be slow: asked again until answered.
    for _ in range(10):
        kill.click()
        if kill.is_disabled() or kill.is_hidden():
            break
    expect(live(page)).to_have_attribute("data-status", "failed", timeout=LONG_MS)
    for viewer in (page, second):
        expect(viewer.locator(".banner")).to_contain_text("Worker 1: Killed on request")
        expect(viewer.locator(".banner")).to_contain_text("Run again")
        expect(viewer.locator(".story")).to_contain_text("Worker 1 was lost")
        expect(process(viewer, 0)).to_contain_text("ended: worker 1 was lost")
        expect(process(viewer, 1).locator("button.kill")).to_be_hidden()
    visit(page, "Communication")
    expect(page.get_by_text("worker 2").first).to_be_visible()


def apply_stays_in_sight(page: Page) -> None:
    """Also below more knobs than the window has room for, and no knob is seen through it."""
    network = page.get_by_test_id("stSidebar").get_by_text("Network between the processes")
    network.click()
    expect(page.get_by_role("spinbutton", name="Link delay, one way (ms)")).to_be_in_viewport()
    page.get_by_test_id("stSidebar").evaluate(TO_THE_TOP)
    reach(page.get_by_role("button", name="Apply"))
    ground = "strip => getComputedStyle(strip).backgroundColor"
    colours = [
        page.locator(part).evaluate(ground)
        for part in (".st-key-apply_button", "[data-testid=stSidebar]")
    ]
    assert colours[0] == colours[1]
    assert colours[0].startswith("rgb(")
    network.click()


def process(page: Page, worker: int) -> Locator:
    """The card of a process in force."""
    return page.locator(f".process[data-process='{worker}']:not([data-state=arriving])")


def step_through_contexts(page: Page) -> None:
    visit(page, "Learn")
    stepper = page.frame_locator("iframe")
    reach(stepper.get_by_role("button", name="Next step")).click()
    expect(stepper.locator(".count")).to_contain_text("step 2 of")
    reach(stepper.get_by_role("button", name="Lecture view"))


def make(page: Page, change: Callable[[], None], said: Locator) -> None:
    """Move a knob; move it again if an answer of the run redrew the knobs just then."""

    def is_said() -> bool:
        page.get_by_test_id("stSidebar").evaluate(TO_THE_TOP)
        with suppress(PlaywrightTimeout):
            change()
            said.wait_for(timeout=AGAIN_AFTER_MS)
        return said.is_visible()

    wait_until(page, is_said, "a knob was not moved", LONG_MS)
    wait_until_drawn(page)


def fill(where: Page | Locator, field: str, value: str) -> None:
    box = reach(where.get_by_role("spinbutton", name=field))
    box.fill(value)
    box.press("Enter")


def choose(page: Page, field: str, option: str) -> None:
    reach(page.get_by_test_id("stSidebar").get_by_role("combobox", name=field)).click()
    page.get_by_role("option", name=option).click(timeout=AGAIN_AFTER_MS)
