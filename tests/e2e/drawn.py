"""When is a page whole? Its script has ended, every chart and table of it is drawn."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.conftest import MAX_WAIT_MS

IS_DRAWN = """() => {
    if (!document.getElementById('root')) return document.readyState === 'complete';
    const app = document.querySelector('[data-testid=stApp]');
    if (!app || app.dataset.testScriptState !== 'notRunning') return false;
    if (document.querySelector('[data-testid=stSkeleton]')) return false;
    const charts = [...document.querySelectorAll(
        '[data-testid=stBidiComponentRegular], [data-testid=stPlotlyChart]')];
    return charts.every(chart => chart.querySelector('.main-svg'));
}"""
"""True once the page's script has ended and every chart and table of it is drawn; of a page that
Streamlit does not draw, as that of a lecture, once it is loaded."""

GO = """address => {
    const before = document.title;
    history.pushState(null, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
    return before;
}"""
"""Leads to another page of the lab as the browser's Back does; returns the title before."""

NEXT_FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def wait_until_drawn(page: Page) -> None:
    page.wait_for_function(IS_DRAWN)


def go(page: Page, address: str) -> None:
    """Another page of the lab, with another title, without a load, and whole.

    A load takes four times the processor time. That the script has begun is seen by the title:
    where it ends soon, the browser may draw no state between.
    """
    before = page.evaluate(GO, address)
    page.wait_for_function("before => document.title !== before", arg=before)
    wait_for_a_frame(page)
    wait_until_drawn(page)


def wait_until(
    page: Page, is_true: Callable[[], object], otherwise: str, max_wait_ms: int = MAX_WAIT_MS
) -> None:
    """For what `expect` has no word for; fails with `otherwise`. The page goes on meanwhile."""
    deadline = time.monotonic() + max_wait_ms / 1000
    while not is_true():
        if time.monotonic() > deadline:
            pytest.fail(otherwise)
        page.wait_for_timeout(25)


def wait_for_a_frame(page: Page) -> None:
    """Wait until the page has drawn the last input that it received (a pointer, a key)."""
    page.evaluate(NEXT_FRAME)
