"""At 1280x720 nothing is cut, too pale or without use: what a page shows can be shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

import strategy_profiles
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until_drawn
from tests.profiles.served_run import write_served_run

pytestmark = pytest.mark.browser
PROJECTOR = {"width": 1280, "height": 720}
LEGIBLE = 4.5
"""WCAG's contrast of normal text."""
CONTRASTS = """() => {
    const channels = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = (text) => channels(text).map((value) => value / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
    const ground = light(getComputedStyle(document.querySelector(".stApp")).backgroundColor);
    const texts = document.querySelectorAll(
        ".js-plotly-plot :is(.xtick, .ytick, .g-xtitle, .g-ytitle, .annotation) text");
    return [...texts].filter((text) => text.textContent.trim()).map((text) => {
        const [low, high] = [light(getComputedStyle(text).fill), ground].sort((a, b) => a - b);
        return [text.textContent, (high + 0.05) / (low + 0.05)];
    });
}"""
"""Text of each axis and note of the charts with its contrast to the page."""


@pytest.fixture(scope="module")
def runs(server: Server) -> Server:
    server.write_run("shown", steps=60, windows=1, segments=2, tracing_ms=400.0)
    write_served_run(server.fresh("served"))
    server.write_run("many", steps=40, windows=1, replicas=16, straggler=(5, 30.0))
    server.write_run("one-step", steps=1, windows=0, ending="failed", memory=False)
    return server


@pytest.fixture
def visit(open_page: Callable[..., Page], runs: Server) -> Callable[..., Page]:
    def opened(name: str, scheme: str = "light", **query: str) -> Page:
        page = open_page(runs.address(name, **query), viewport=PROJECTOR, color_scheme=scheme)
        wait_until_drawn(page)
        return page

    return opened


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_charts_say_is_legible(visit: Callable[..., Page], scheme: str) -> None:
    found = visit("overview", scheme, run="shown").evaluate(CONTRASTS)
    assert len(found) > 10
    assert [(text, contrast) for text, contrast in found if contrast < LEGIBLE] == []


@pytest.mark.parametrize("run", ["shown", "served"])
def test_the_links_of_an_ended_run_are_one_line(run: str, visit: Callable[..., Page]) -> None:
    links = visit("", run=run).get_by_test_id("stMain").get_by_test_id("stPageLink")
    expect(links.last).to_have_text("Report and exports")
    assert len({round((link.bounding_box() or {})["y"]) for link in links.all()}) == 1


def test_a_run_of_one_step_has_sentences_in_place_of_charts(
    visit: Callable[..., Page], runs: Server
) -> None:
    page = visit("overview", run="one-step")
    expect(page.get_by_text("One step was recorded: step 0, ")).to_be_visible()
    expect(page.get_by_text("Step 0 alone recorded a loss: ")).to_be_visible()
    expect(page.locator(".lab-chart")).to_have_count(0)
    reason = strategy_profiles.load(runs.runs / "one-step").status.message
    assert reason
    text = page.get_by_test_id("stMain").inner_text()
    assert reason.rstrip(".") in text


def test_a_timeline_without_captures_offers_nothing_to_move(visit: Callable[..., Page]) -> None:
    page = visit("timeline", run="one-step")
    expect(page.get_by_text("No step of this run was captured in full")).to_be_visible()
    expect(page.get_by_role("button", name="Whole run (Home)")).to_be_hidden()
