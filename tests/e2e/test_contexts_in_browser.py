"""The contexts page in Chromium: record, step by button and key, link to a step, edit, go wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import psutil
import pytest
from playwright.sync_api import FrameLocator, Page, expect

from strategy_core.launcher.launcher import Launcher
from strategy_lab import profiles
from strategy_lab.profiles.spec.run_spec import RunSpec
from tests.e2e.conftest import Server
from tests.patience import wait_until
from tests.processes import command_of

pytestmark = pytest.mark.browser

Opened = Callable[..., Page]
RECORDING_MS = 200_000


def picture(page: Page) -> FrameLocator:
    """The stepper, once the recording is there."""
    frame = page.frame_locator("iframe")
    expect(frame.locator(".count")).to_be_visible(timeout=RECORDING_MS)
    return frame


def test_a_program_changed_during_its_first_recording_is_drawn(
    open_page: Opened, server: Server
) -> None:
    # The first test here: once this demonstration is recorded, nothing is left to change it during.
    page = open_page(server.address("contexts", demo="merge_call"))
    change(page, lambda source: source.replace("+ 1.0", "+ 5.0"))
    frame = page.frame_locator("iframe")
    # 5 / 11 and 6 / 11: numbers that only the changed program prints.
    expect(frame.locator(".box", has_text="0.4545").first).to_be_visible(timeout=RECORDING_MS)


def test_a_link_opens_a_demonstration_at_its_step(open_page: Opened, server: Server) -> None:
    page = open_page(server.address("contexts", demo="merge_call", step="4"))
    frame = picture(page)
    expect(frame.locator(".count")).to_have_text("step 4 of 20")
    expect(frame.locator(".now")).to_contain_text("control enters replica 1 context")

    frame.get_by_role("button", name="Next step").click()
    expect(frame.locator(".count")).to_have_text("step 5 of 20")
    page.keyboard.press("ArrowRight")
    expect(frame.locator(".count")).to_have_text("step 6 of 20")
    expect(frame.locator(".lit").first).to_contain_text("merge_call")
    expect(page).to_have_url(re.compile("step=6"))


def test_a_changed_program_is_recorded_anew(open_page: Opened, server: Server) -> None:
    page = open_page(server.address("contexts", demo="merge_call"))
    picture(page)
    page.get_by_text("Change the program").click()
    editor = page.locator("textarea")
    editor.fill(editor.input_value().replace("+ 1.0", "+ 3.0"))
    editor.press("Control+Enter")
    frame = page.frame_locator("iframe")
    # 3 / 7 and 4 / 7: numbers that only the changed program prints.
    expect(frame.locator(".box", has_text="0.4286").first).to_be_visible(timeout=RECORDING_MS)


def test_a_program_is_ended_soon_after_its_last_tab(open_page: Opened, server: Server) -> None:
    program = f"# {time.time_ns()}\ndef demonstrate(strategy):\n    while True: pass\n"
    pages = [open_page(server.address("contexts", demo="merge_call")) for _ in range(2)]
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
    closed = time.monotonic()
    wait_until(lambda: not recorders(server))
    assert time.monotonic() - closed < 15  # 6 s of grace; the rest is a busy machine's


def test_a_third_program_waits_for_its_turn_and_says_its_place(
    open_page: Opened, server: Server
) -> None:
    pages = [open_page(server.address("contexts", demo="merge_call")) for _ in range(3)]
    for number, page in enumerate(pages):
        endless = f"# {number}\ndef demonstrate(strategy):\n    while True: pass\n"
        change(page, lambda _source, endless=endless: endless)
        if number < 2:
            wait_until(lambda number=number: len(recorders(server)) > number)
    expect(pages[2].get_by_text("number 1 in the queue")).to_be_visible()
    pages[0].get_by_role("button", name="Stop").click()
    expect(pages[0].get_by_text("You stopped the recording")).to_be_visible()
    expect(pages[2].get_by_text("TensorFlow is starting in its own process")).to_be_visible()
    pages[1].goto(server.address("runs"))  # another page counts as leaving, too
    pages[2].close()
    wait_until(lambda: not recorders(server))


def change(page: Page, edit: Callable[[str], str]) -> None:
    """Put another program into the editor."""
    page.get_by_text("Change the program").click()
    editor = page.locator("textarea")
    editor.fill(edit(editor.input_value()))
    editor.press("Control+Enter")


def recorders(server: Server) -> list[int]:
    """Processes of the lab that watch over a recording."""
    return sorted(
        process.pid
        for process in psutil.process_iter()
        if "strategy_core.contexts.guard" in " ".join(command_of(process))
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
    rows = profiles.load(run).table("contexts").to_pandas()
    assert set(rows["context"]) >= {"cross-replica", "replica", "update"}
    assert set(rows["phase"]) == {"tracing"}

    page = open_page(server.address("contexts"))
    page.get_by_text("The first step of a run").click()
    frame = picture(page)
    expect(frame.locator("h1")).to_contain_text("One training step under tf.distribute")
