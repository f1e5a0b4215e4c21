"""The timeline in real Chromium: it opens on a capture, moves by key and wheel, tells of spans."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import Server
from tests.synthetic import HOSTILE, write_run

pytestmark = pytest.mark.browser
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def traced(server: Server) -> Server:
    write_run(server.runs / "traced", steps=120, windows=3, straggler=(2, 30.0))
    write_run(server.runs / "bare", steps=10, windows=0)
    write_run(server.runs / "strange", steps=30, windows=1, prefix=HOSTILE)
    return server


@pytest.fixture
def timeline(open_page: Open, traced: Server) -> Page:
    page = open_page(traced.address("timeline", run="traced"))
    expect(root(page)).to_have_attribute("data-drawn", "yes")
    return page


def root(page: Page) -> Locator:
    return page.locator(".timeline")


def view_of(page: Page) -> tuple[int, int]:
    start, end = (root(page).get_attribute(f"data-{name}") or "0" for name in ("from", "to"))
    return int(start), int(end)


def expect_view_other_than(page: Page, view: tuple[int, int]) -> tuple[int, int]:
    expect(root(page)).not_to_have_attribute("data-from", str(view[0]))
    return view_of(page)


def test_it_opens_on_the_newest_capture(timeline: Page) -> None:
    assert int(root(timeline).get_attribute("data-spans") or 0) > 1000
    start, end = view_of(timeline)
    assert start > 0
    assert (end - start) / 1e6 == pytest.approx(10 * 54, rel=0.2)


def test_keys_pan_zoom_and_go_from_capture_to_capture(timeline: Page) -> None:
    canvas = timeline.locator(".timeline canvas")
    canvas.focus()
    first = view_of(timeline)
    timeline.keyboard.press("ArrowUp")
    closer = expect_view_other_than(timeline, first)
    assert closer[1] - closer[0] < first[1] - first[0]
    timeline.keyboard.press("ArrowRight")
    assert expect_view_other_than(timeline, closer)[0] > closer[0]
    timeline.keyboard.press("[")
    earlier = expect_view_other_than(timeline, closer)
    assert earlier[1] < first[0]
    timeline.keyboard.press("Home")
    whole = expect_view_other_than(timeline, earlier)
    assert whole[1] - whole[0] > 3 * (first[1] - first[0])


def test_the_wheel_zooms_where_the_pointer_is(timeline: Page) -> None:
    box = timeline.locator(".timeline canvas").bounding_box()
    assert box
    before = view_of(timeline)
    timeline.mouse.move(box["x"] + box["width"] - 100, box["y"] + 90)
    timeline.mouse.wheel(0, -400)
    after = expect_view_other_than(timeline, before)
    assert after[0] - before[0] > before[1] - after[1]


def test_a_span_tells_what_it_is_and_where_its_like_are(timeline: Page) -> None:
    find = timeline.get_by_role("searchbox")
    find.fill("matmul")
    expect(timeline.locator(".timeline .count")).to_contain_text("found")
    find.press("Enter")
    expect(timeline.locator(".timeline .count")).to_contain_text(" of ")
    start, end = view_of(timeline)
    box = timeline.locator(".timeline canvas").bounding_box()
    assert box
    # A hit is brought into the middle, on whatever row it is: look down the rows for it.
    middle = box["x"] + 150 + (box["width"] - 150) / 2
    tip = timeline.locator(".timeline .tip")
    for offset in range(70, int(box["height"]), 12):
        timeline.mouse.move(middle, box["y"] + offset)
        timeline.wait_for_timeout(40)
        if tip.is_visible() and "MatMul" in tip.inner_text():
            timeline.mouse.down()
            timeline.mouse.up()
            break
    expect(root(timeline)).to_have_attribute("data-selected", re.compile("MatMul"))
    details = timeline.locator(".timeline .details")
    expect(details).to_contain_text("/device:CPU:")
    expect(details).to_contain_text("The same op elsewhere")
    assert end > start


def test_a_run_without_captures_says_what_to_do(open_page: Open, traced: Server) -> None:
    page = open_page(traced.address("timeline", run="bare"))
    expect(page.get_by_text("Turn captures on in the Lab")).to_be_visible()


def test_names_are_never_markup(open_page: Open, traced: Server) -> None:
    page = open_page(traced.address("timeline", run="strange"), color_scheme="dark")
    page.on("dialog", lambda _dialog: pytest.fail("a run's text was executed"))
    expect(root(page)).to_have_attribute("data-drawn", "yes")
    box = page.locator(".timeline canvas").bounding_box()
    assert box
    for x in range(200, 1200, 100):
        page.mouse.move(box["x"] + x, box["y"] + 80)
        page.mouse.down()
        page.mouse.up()
        page.wait_for_timeout(20)
