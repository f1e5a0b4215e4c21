"""Cumulative Layout Shift of a page: how far its content moved without an action of the user."""

from __future__ import annotations

from playwright.sync_api import Page

GOOD = 0.1
"""At most this much is a good score (web.dev/cls)."""
_OBSERVE = """
window.moved = 0;
window.movedByAll = 0;
new PerformanceObserver(list => {
    for (const shift of list.getEntries()) {
        window.movedByAll += shift.value;
        if (!shift.hadRecentInput) window.moved += shift.value;
    }
}).observe({ type: "layout-shift", buffered: true });
"""


def watch_layout(page: Page) -> None:
    """Count the shifts of every page that is loaded from now on, from its beginning."""
    page.add_init_script(_OBSERVE)


def layout_shift(page: Page) -> float:
    return float(page.evaluate("window.moved"))


def every_shift(page: Page) -> float:
    """Also what moved within half a second of a click, which the score leaves out."""
    return float(page.evaluate("window.movedByAll"))
