"""The README's tour in real Chromium, at the size of a projector: what it says is so, in order."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from strategy_lab.profiles.reporting.palette import PHASE_COLOURS
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until, wait_until_drawn
from tests.e2e.following import events
from tests.e2e.layout_shift import every_shift, watch_layout
from tests.e2e.test_changes_while_running import assert_one_run
from tests.e2e.test_lab_in_browser import (
    LONG_MS,
    configure_anew,
    expect_painted,
    expect_step_after,
    free_lab,
    live,
    press_stop,
    step_of,
)

__all__ = ["free_lab"]

pytestmark = [pytest.mark.browser, pytest.mark.run, pytest.mark.timeout(1800)]
Open = Callable[..., Page]
PROJECTOR = {"width": 1280, "height": 720}
MOST_SHIFT = 0.05
DELAY_MS = 30
PIXELS_OF_ROWS = """(canvas, [colour, rows]) => {
    const context = canvas.getContext("2d");
    const height = canvas.height / rows;
    const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return Array.from({ length: rows }, (_, row) => {
        const line = context.getImageData(0, Math.round((row + 0.25) * height), canvas.width, 1).data;
        let count = 0;
        for (let at = 0; at < line.length; at += 4)
            if (wanted.every((value, channel) => value === line[at + channel])) count++;
        return count / canvas.width;
    });
}"""
"""Share of each row of a chart that has a colour."""


def reach(control: Locator) -> Locator:
    """A control that is in sight without scrolling."""
    expect(control).to_be_in_viewport(ratio=0.9)
    return control


def visit(page: Page, link: str) -> None:
    """Another page about the same run, by the navigation."""
    reach(page.get_by_test_id("stTopNavLink").filter(has_text=link)).first.click()
    page.wait_for_url(re.compile(rf"/{link.split()[-1].lower()}"))
    wait_until_drawn(page)


def test_the_tour(open_page: Open, free_lab: Server) -> None:
    page = open_page(free_lab.address(), viewport=PROJECTOR)
    watch_layout(page)
    page.reload()
    configure_anew(page)
    run = press_run(page, free_lab)
    slow_a_replica_down(page, run)
    change_while_it_runs(page, run)


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


def change_while_it_runs(page: Page, run: Path) -> None:
    """The loss continues: every change found the weights that it left."""
    sidebar = page.get_by_test_id("stSidebar")
    changes: list[tuple[str, Callable[[], None]]] = [
        ("devices cpu:4 → cpu:2", lambda: fill(sidebar, "Virtual CPU devices", "2")),
        ("cross_device_ops", lambda: choose(page, "Cross-device algorithm", "hierarchical-copy")),
        ("central-storage", lambda: choose(page, "Strategy", "CentralStorageStrategy")),
    ]
    for said, change in changes:
        before, segments = step_of(page), len(events(run, "segment"))
        change()
        reach(page.get_by_role("button", name="Apply")).click()
        expect(live(page)).to_have_attribute("data-segments", str(segments + 1), timeout=LONG_MS)
        expect(sidebar.get_by_text(re.compile("applied at step")).first).to_be_visible()
        expect(sidebar.get_by_text(re.compile(said)).first).to_be_visible()
        expect_step_after(page, before)
    expect(sidebar.get_by_role("combobox", name="Cross-device algorithm")).to_be_disabled()
    expect(sidebar.get_by_text("gradients go to the one copy of the variables")).to_be_visible()
    assert_one_run(run)
    assert [item["strategy"] for item in events(run, "segment")][-2:] == ["mirrored", "central-storage"]


def fill(where: Page | Locator, field: str, value: str) -> None:
    box = reach(where.get_by_role("spinbutton", name=field))
    box.fill(value)
    box.press("Enter")


def choose(page: Page, field: str, option: str) -> None:
    reach(page.get_by_test_id("stSidebar").get_by_role("combobox", name=field)).click()
    page.get_by_role("option", name=option).click()
