"""A click on a line of the program, or on a point of a chart of several runs, opens a step on the
timeline."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until_drawn

pytestmark = pytest.mark.browser
HINT = "A click on a point shows that step of its run on the timeline."


@pytest.fixture(scope="module")
def runs(server: Server) -> Server:
    server.write_run("click-a", steps=60, windows=1)
    server.write_run("click-b", steps=60, windows=1, seed=4)
    return server


MIDDLE = """(chart, number) => {
    const plot = chart.querySelector('.js-plotly-plot');
    const line = plot._fullData[number], { _size: size, xaxis, yaxis } = plot._fullLayout;
    const at = Math.floor(line.x.length / 2), box = plot.getBoundingClientRect();
    return [box.x + size.l + xaxis.d2p(line.x[at]), box.y + size.t + yaxis.d2p(line.y[at])];
}"""
"""Where a chart shows the middle of one of its lines."""


def click_a_point(chart: Locator, line: int) -> None:
    """In the middle of a line of the chart."""
    chart.scroll_into_view_if_needed()
    x, y = chart.evaluate(MIDDLE, line)
    chart.page.mouse.move(x, y)
    expect(chart.locator(".hoverlayer .hovertext").first).to_be_attached()
    chart.page.mouse.click(x, y)


def test_from_the_line_of_the_program_that_calls_it(
    open_page: Callable[..., Page], runs: Server
) -> None:
    runs.write_run("click-line", steps=60, windows=1, gaps=())
    page = open_page(runs.address("overview", run="click-line"))
    page.locator(".lab-code .lit .ms a").click()
    page.wait_for_url(re.compile(r"/timeline\?run=click-line&step=\d+"))
    expect(page.locator(".timeline[data-settled=yes]")).to_be_visible()


def test_from_the_losses_of_compare(open_page: Callable[..., Page], runs: Server) -> None:
    page = open_page(runs.address("compare", a="click-a", b="click-b"))
    wait_until_drawn(page)
    expect(page.get_by_text(HINT)).to_be_visible()
    click_a_point(page.locator(".lab-chart").last, 1)
    page.wait_for_url(re.compile("/timeline.*run=click-b"))


def test_the_lab_page_of_a_run_offers_its_configuration(
    open_page: Callable[..., Page], runs: Server
) -> None:
    page = open_page(runs.address(run="click-a"))
    wait_until_drawn(page)
    page.get_by_test_id("stSidebar").get_by_role("button", name="Copy as …").click()
    expect(page.get_by_text(re.compile("strategy-lab run .*--strategy", re.DOTALL))).to_be_visible()
