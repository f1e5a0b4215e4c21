"""The contexts page in Chromium: record, step by button and key, link to a step, edit, go wrong."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from strategy_core.launcher import Launcher
from strategy_lab import profiles
from strategy_lab.profiles.spec import RunSpec
from tests.e2e.conftest import Server

pytestmark = pytest.mark.browser

Opened = Callable[..., Page]
RECORDING_MS = 200_000


def picture(page: Page) -> FrameLocator:
    """The stepper, once the recording is there."""
    frame = page.frame_locator("iframe")
    expect(frame.locator(".count")).to_be_visible(timeout=RECORDING_MS)
    return frame


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
