"""Runs of several processes in real Chromium: asked for, changed, and one killed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Server
from tests.e2e.test_lab_in_browser import (
    LONG_MS,
    configure_anew,
    expect_step_after,
    live,
    step_of,
    stop_what_runs,
)

pytestmark = [pytest.mark.browser, pytest.mark.run, pytest.mark.timeout(1200)]
Open = Callable[..., Page]


def process(page: Page, worker: int) -> Locator:
    """The card of a process in force."""
    return page.locator(f".process[data-process='{worker}']:not([data-state=arriving])")


@pytest.fixture
def page(open_page: Open, server: Server) -> Iterator[Page]:
    """The configuration of a long run; whatever comes of it is over in the end."""
    page = open_page(server.address(steps=1_000_000, batch=64, workload="digits-mlp"))
    page.set_default_timeout(LONG_MS)
    configure_anew(page)
    yield page
    stop_what_runs(open_page, server)


def choose(page: Page, strategy: str) -> None:
    page.get_by_role("button", name=strategy, exact=True).click()


def test_one_process_becomes_several_and_one_of_them_is_killed(
    page: Page, open_page: Open, server: Server
) -> None:
    choose(page, "MultiWorkerMirroredStrategy")
    expect(page.get_by_role("spinbutton", name="Workers")).to_have_value("2")
    choose(page, "MirroredStrategy")
    expect(page.get_by_role("spinbutton", name="Workers")).to_be_hidden()
    page.get_by_role("button", name="Run", exact=False).filter(has_text="Ctrl").click()
    expect(live(page)).to_have_attribute("data-status", "running", timeout=LONG_MS)
    expect_step_after(page, 3)
    expect(page.locator(".processes")).to_be_hidden()

    become_several(page)
    second = open_page(server.address())
    expect(process(second, 1)).to_contain_text("running, step", timeout=LONG_MS)

    kill = process(page, 1).locator("button.kill")
    kill.click()
    expect(kill).to_have_text("Really kill worker 1?")
    expect(live(page)).to_have_attribute("data-status", "running")
    # The question goes away by itself, and this machine may be slow: asked again until answered.
    for _ in range(10):
        kill.click()
        if kill.is_disabled() or kill.is_hidden():
            break
    expect(live(page)).to_have_attribute("data-status", "failed", timeout=LONG_MS)
    for viewer in (page, second):
        expect(viewer.locator(".banner")).to_contain_text("Worker 1: Killed on request")
        expect(viewer.locator(".story")).to_contain_text("Worker 1 was lost")
        expect(process(viewer, 0)).to_contain_text("ended: worker 1 was lost")
        expect(process(viewer, 1).locator("button.kill")).to_be_hidden()
    assert live(page).get_attribute("data-mounts") == "1"
    page.reload()
    expect(page.locator(".story")).to_contain_text("Worker 0")


def become_several(page: Page) -> None:
    """Change the run to two workers, and see both at work."""
    page.locator("[data-testid=stSidebar]").get_by_role("combobox", name="Strategy").click()
    page.get_by_role("option", name="MultiWorkerMirroredStrategy").click()
    workers = page.get_by_role("spinbutton", name="Workers")
    workers.fill("2")
    workers.press("Enter")
    expect(page.get_by_text("workers 1 → 2")).to_be_visible()
    page.get_by_role("button", name="Apply").click()
    expect(live(page)).to_have_attribute("data-segments", "2", timeout=LONG_MS)
    for worker in range(2):
        expect(process(page, worker)).to_contain_text("running, step", timeout=LONG_MS)
        expect(process(page, worker)).to_contain_text(re.compile(r"pid \d+"))
    expect(page.get_by_text(re.compile("applied at step"))).to_be_visible()
    expect_step_after(page, step_of(page))
