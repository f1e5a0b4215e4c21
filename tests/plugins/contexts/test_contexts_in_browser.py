"""The contexts page in Chromium: step by button and key, link to a step, edit, record, go wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

import strategy_profiles
from strategy_contexts import course, stepper
from strategy_contexts.shipped import shipped
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import RunSpec
from tests.e2e.conftest import Server
from tests.processes import command_of
from tests.timeouts import wait_until

pytestmark = pytest.mark.browser

Opened = Callable[..., Page]
RECORDING_MS = 200_000


def picture(page: Page) -> FrameLocator:
    """The stepper."""
    frame = page.frame_locator("iframe")
    expect(frame.locator(".count")).to_be_visible()
    return frame


def test_the_first_demonstration_is_there_at_once_without_tensorflow(
    open_page: Opened, server: Server
) -> None:
    page = open_page(server.address("contexts"))
    frame = picture(page)
    expect(frame.locator("h1")).to_contain_text("merge_call: all replicas hand over")
    expect(frame.get_by_text("Recorded with TensorFlow 2.")).to_be_visible()
    assert not recorders(server)


def test_everything_of_a_step_is_on_a_projector(open_page: Opened, server: Server) -> None:
    page = open_page(
        server.address("contexts", demo="standard_update_pattern"),
        viewport={"width": 1280, "height": 720},
    )
    frame = picture(page)
    for name in ("Program", "Contexts", "Values"):
        expect(frame.get_by_role("region", name=name)).to_be_in_viewport(ratio=0.95)
    expect(frame.locator(".arrow", has_text="x = 2")).to_have_count(1)
    frame.get_by_role("button", name="Next step").focus()
    for _ in range(13):  # to the update, past the first screen of lanes
        page.keyboard.press("ArrowRight")
        for active in (".lit", ".box.here", ".now"):
            expect(frame.locator(active).first).to_be_in_viewport(ratio=0.9)
    expect(frame.locator(".why")).to_contain_text("own device")
    is_cut = "panel => panel.scrollWidth > panel.clientWidth"
    assert not any(panel.evaluate(is_cut) for panel in frame.locator(".panel").all())
    page.keyboard.press("f")
    expect(frame.get_by_role("button", name="Next step")).to_be_hidden()
    expect(frame.locator(".box.here")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(frame.get_by_role("button", name="Next step")).to_be_visible()


BROKEN = """code => [...code.querySelectorAll(".text")].flatMap((line) => {
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT), broken = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        for (const { 0: name, index } of node.data.matchAll(/\\w+/g)) {
            const range = new Range();
            range.setStart(node, index);
            range.setEnd(node, index + name.length);
            if (range.getClientRects().length > 1) broken.push(name);
        }
    }
    return broken;
})"""
"""Names, or parts of one that no row has room for, that go on in the next row."""


@pytest.mark.parametrize("demo", ["merge_call", "standard_update_pattern"])
def test_code_breaks_between_names(open_page: Opened, server: Server, demo: str) -> None:
    page = open_page(server.address("contexts", demo=demo), viewport={"width": 1280, "height": 720})
    code = picture(page).get_by_role("region", name="Program")
    expect(code.locator(".text").first).to_be_attached()
    rows = "line => line.getClientRects()[0].height / parseFloat(getComputedStyle(line).lineHeight)"
    assert max(line.evaluate(rows) for line in code.locator("div:visible > .text").all()) > 1.5
    assert code.evaluate(BROKEN) == []


def test_the_stepper_changes_its_colours_with_the_page_and_stays_at_its_step(
    open_page: Opened, server: Server
) -> None:
    page = open_page(server.address("contexts", demo="merge_call"), color_scheme="dark")
    frame = picture(page)
    expect(frame.locator("body")).to_have_css("background-color", "rgb(15, 19, 26)")
    frame.get_by_role("button", name="Next step").click()
    expect(frame.locator(".count")).to_have_text("step 2 of 22")
    page.emulate_media(color_scheme="light")
    expect(frame.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    expect(frame.locator(".count")).to_have_text("step 2 of 22")


def test_a_downloaded_page_fits_a_phone_and_opens_as_a_lecture(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "contexts.html"
    program = course.demonstration("merge_call").source
    file.write_text(stepper.page(shipped(program, "mirrored", "cpu:2") or {}))
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(file.as_uri())
    page.keyboard.press("ArrowRight")
    expect(page.locator(".count")).to_have_text("step 2 of 22")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{file.as_uri()}?lecture")
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "32px"  # 24 pt
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()


def test_calls_stand_under_the_context_that_tensorflow_reported(
    open_page: Opened, server: Server
) -> None:
    frame = picture(open_page(server.address("contexts", demo="default_strategy")))
    assert lane_of(frame, "in cross-replica context: False") == "Default"
    assert lane_of(frame, "in scope, cross-replica: True") == "Cross-replica"
    frame = picture(open_page(server.address("contexts", demo="update")))
    assert lane_of(frame, "enter update") == "Update"


def lane_of(frame: FrameLocator, text: str) -> str:
    """The lane in which a box stands, by where it is drawn."""
    box = frame.locator(".box", has_text=text).first.bounding_box()
    assert box
    heads = [(head.bounding_box(), head.inner_text()) for head in frame.locator(".lane").all()]
    return next(
        name
        for at, name in heads
        if at and at["x"] - 2 <= box["x"] + box["width"] / 2 <= at["x"] + at["width"] + 2
    )


def test_a_link_opens_a_demonstration_at_its_step(open_page: Opened, server: Server) -> None:
    page = open_page(server.address("contexts", demo="merge_call", step="5"))
    frame = picture(page)
    expect(frame.locator(".count")).to_have_text("step 5 of 22")
    expect(frame.locator(".now")).to_contain_text("Control enters replica 1 context")

    frame.get_by_role("button", name="Next step").click()
    expect(frame.locator(".count")).to_have_text("step 6 of 22")
    page.keyboard.press("ArrowRight")
    expect(frame.locator(".count")).to_have_text("step 7 of 22")
    expect(frame.locator(".lit").first).to_contain_text("merge_call")
    expect(page).to_have_url(re.compile("step=7"))


def test_a_program_that_is_changed_again_while_it_records_is_drawn(
    open_page: Opened, server: Server
) -> None:
    page = open_page(server.address("contexts", demo="merge_call"))
    picture(page)
    change(page, lambda source: source.replace("+ 1.0", "+ 3.0"))
    expect(page.get_by_text("TensorFlow is starting in its own process")).to_be_visible()
    change(page, lambda source: source.replace("+ 3.0", "+ 5.0"), once_it_holds="+ 3.0")
    frame = page.frame_locator("iframe")
    # 5 / 11 and 6 / 11: numbers that only the changed program prints.
    expect(frame.locator(".box", has_text="0.4545").first).to_be_visible(timeout=RECORDING_MS)


def test_two_recordings_beside_each_other_show_program_and_lanes_on_a_projector(
    open_page: Opened, server: Server
) -> None:
    page = open_page(server.address("contexts"), viewport={"width": 1280, "height": 720})
    page.get_by_role("button", name="Strategy").click()
    page.get_by_role("combobox", name="Beside it").click()
    page.get_by_role("option", name="OneDeviceStrategy").click()
    page.keyboard.press("Escape")
    frames = [page.frame_locator("iframe >> nth=0"), page.frame_locator("iframe >> nth=1")]
    for frame in frames:
        expect(frame.locator(".count")).to_be_visible(timeout=RECORDING_MS)
    for size in ({"width": 1280, "height": 720}, {"width": 1600, "height": 900}):
        page.set_viewport_size(size)
        for frame in frames:
            for name in ("Program", "Contexts"):
                region = frame.get_by_role("region", name=name)
                expect(region).to_be_in_viewport(ratio=0.99)
                assert region.evaluate("panel => panel.scrollWidth <= panel.clientWidth")
            for part in (".count", ".now", ".lit", ".box.here"):
                expect(frame.locator(part).first).to_be_in_viewport(ratio=0.99)


@pytest.mark.long
def test_a_program_is_ended_after_its_last_tab(open_page: Opened, server: Server) -> None:
    program = endless(str(time.time_ns()))
    address = server.address("contexts", demo="merge_call")
    pages = [open_page(address, own_context=True) for _ in range(2)]
    for page in pages:
        change(page, lambda _source: program)
    wait_until(lambda: len(recorders(server)) == 1)  # the two share it; the others have ended
    shared = recorders(server)
    pages[0].close()
    pages[1].reload()
    change(pages[1], lambda _source: program)
    time.sleep(8)  # longer than a lost connection is waited for
    assert recorders(server) == shared
    pages[1].close()
    wait_until(lambda: not recorders(server))


@pytest.mark.long
def test_a_third_program_waits_for_its_turn_and_says_its_place(
    open_page: Opened, server: Server
) -> None:
    address = server.address("contexts", demo="merge_call")
    pages = [open_page(address, own_context=True) for _ in range(3)]
    for number, page in enumerate(pages):
        change(page, lambda _source, number=number: endless(str(number)))
        if number < 2:
            wait_until(lambda number=number: len(recorders(server)) > number)
    expect(pages[2].get_by_text("number 1 in the queue")).to_be_visible()
    pages[0].get_by_role("button", name="Stop").click()
    expect(pages[0].get_by_text("You stopped the recording")).to_be_visible()
    expect(pages[2].get_by_text("TensorFlow is starting in its own process")).to_be_visible()
    pages[1].goto(server.address("runs"))  # another page counts as leaving, too
    pages[2].close()
    wait_until(lambda: not recorders(server))


def endless(name: str) -> str:
    """A program of that name that does not end, and leaves the cores to the other processes."""
    return (
        f"# {name}\nimport time\n\n\ndef demonstrate(strategy):\n    while True: time.sleep(0.1)\n"
    )


def change(
    page: Page, edit: Callable[[str], str], *, once_it_holds: str = "def demonstrate"
) -> None:
    """Put another program into the editor."""
    page.get_by_role("button", name="Change the program").click()
    editor = page.locator("textarea")
    # An editor is empty for a moment when it opens: an edit of nothing would be recorded.
    expect(editor).to_have_value(re.compile(re.escape(once_it_holds)))
    editor.fill(edit(editor.input_value()))
    editor.press("Control+Enter")
    page.keyboard.press("Escape")  # closes the editor, which covers what is below


def recorders(server: Server) -> list[int]:
    """Processes of the lab that watch over a recording."""
    return sorted(
        process.pid
        for process in psutil.process_iter()
        if "strategy_contexts.guard" in " ".join(command_of(process))
        and str(server.runs) in " ".join(command_of(process.parent() or process))
    )


def test_an_error_is_explained(open_page: Opened, server: Server) -> None:
    page = open_page(server.address("contexts", demo="wrong_context"))
    frame = picture(page)
    alert = frame.get_by_role("alert")
    expect(alert).to_contain_text("Method requires being in cross-replica context")
    expect(alert).to_contain_text("What it means")
    expect(alert).to_contain_text("merge_call(fn)")


def test_a_run_shows_the_contexts_of_its_first_step(
    open_page: Opened, server: Server, launcher: Launcher
) -> None:
    spec = RunSpec.model_validate(
        {
            "devices": "cpu:2",
            "global_batch_size": 32,
            "steps": 3,
            "capture": {"contexts": True},
        }
    )
    run = server.fresh("contexts-traced")
    handle = launcher.launch(spec, run)
    assert handle.wait(240)
    rows = strategy_profiles.load(run).table("contexts").to_pandas()
    assert set(rows["context"]) >= {"cross-replica", "replica", "update"}
    assert set(rows["phase"]) == {"tracing"}

    page = open_page(server.address("contexts"))
    page.get_by_text("The first step of a run").click()
    frame = picture(page)
    expect(frame.locator("h1")).to_contain_text("One training step under tf.distribute")
