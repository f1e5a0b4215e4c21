"""The timeline in real Chromium: it opens on a capture, moves by key and wheel, describes spans."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FloatRect, Locator, Page, Route, expect

from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_for_a_frame, wait_until, wait_until_drawn
from tests.synthetic import HOSTILE, TWO_HOSTS

pytestmark = pytest.mark.browser
Open = Callable[..., Page]
CAPTURED = Path(__file__).parents[1] / "data" / "captured_step"
View = tuple[int, int]
"""Nanoseconds into the run at the left and right edge."""


@pytest.fixture(scope="module")
def traced(server: Server) -> Server:
    server.write_run("traced", steps=120, windows=3, straggler=(2, 30.0))
    server.write_run("bare", steps=10, windows=0)
    server.write_run("strange", steps=30, windows=1, prefix=HOSTILE)
    return server


@pytest.fixture
def timeline(open_page: Open, traced: Server) -> Page:
    page = open_page(traced.address("timeline", run="traced"))
    wait_until_drawn(page)
    view_of(page)
    return page


def root(page: Page) -> Locator:
    return page.locator(".timeline")


VIEW = """([root, before]) => {
    const view = [Number(root.dataset.from), Number(root.dataset.to)];
    const isOther = !before || view[0] !== before[0] || view[1] !== before[1];
    return root.dataset.settled === "yes" && isOther && view;
}"""
"""Where the view has come to, once everything of it is drawn; false until then."""


def view_of(page: Page, other_than: View | None = None) -> View:
    """The view, in one look, once it shows all of what it was asked for."""
    handle = root(page).element_handle()
    start, end = page.wait_for_function(VIEW, arg=[handle, other_than]).json_value()
    return start, end


def test_it_opens_on_the_longest_typical_captured_step(timeline: Page) -> None:
    assert int(root(timeline).get_attribute("data-spans") or 0) > 1000
    start, end = view_of(timeline)
    assert start > 0
    assert (end - start) / 1e6 == pytest.approx(1.3 * 54, rel=0.2)
    expect(timeline.get_by_text("Click an op for its details. Drag to select")).to_be_visible()


NOTE_HEIGHTS = """
const { fillText } = CanvasRenderingContext2D.prototype;
window.heights = {};
CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
  window.heights[text] = y;
  fillText.call(this, text, x, y, ...rest);
};
"""
"""`heights`: by text where it was drawn last, in a canvas."""


def test_each_replicas_device_is_on_the_line_of_its_name(open_page: Open, traced: Server) -> None:
    """Also where the replica's ops take several rows."""
    shutil.copytree(CAPTURED, traced.runs / "of-several-rows", dirs_exist_ok=True)
    page = open_page("about:blank")
    page.add_init_script(NOTE_HEIGHTS)
    page.goto(traced.address("timeline", run="of-several-rows"))
    view_of(page)
    heights = page.evaluate("heights")
    assert heights["replica 1"] - heights["replica 0"] > 40, "replica 0 has several rows"
    for replica in (0, 1):
        assert heights[f"CPU:{replica}"] == heights[f"replica {replica}"]


def test_of_many_replicas_the_late_one_is_on_top(open_page: Open, traced: Server) -> None:
    traced.write_run("of-many", replicas=16, steps=60, windows=1, straggler=(11, 30.0))
    page = open_page("about:blank")
    page.add_init_script(NOTE_HEIGHTS)
    page.goto(traced.address("timeline", run="of-many"))
    view_of(page)
    heights = page.evaluate("heights")
    assert heights["replica 11 late"] < heights["replica 0"] < heights["replica 15"]


def test_the_end_of_an_epoch_is_named_as_far_as_there_is_space(
    open_page: Open, traced: Server
) -> None:
    ends = [{"step": 19, "wall_ms": 400.0, "validation_ms": 300.0}, {"step": 59, "wall_ms": 270.0}]
    traced.write_run("epochs", steps=120, windows=3, epoch_ends=ends)
    page = open_page("about:blank")
    page.add_init_script(NOTE_HEIGHTS)
    page.goto(traced.address("timeline", run="epochs"))
    before = view_of(page)
    page.locator(".timeline canvas").focus()
    page.keyboard.press("Home")
    view_of(page, other_than=before)
    assert {"end of an epoch, 400 ms", "end of an epoch"} <= set(page.evaluate("heights"))


def test_a_long_run_is_there_before_all_its_spans_are_read(open_page: Open, traced: Server) -> None:
    traced.write_run("long", steps=180, windows=16, ops_per_step=420, checksums=True)
    page = open_page(traced.address())
    # The second request is for all spans: it waits for what the test does meanwhile.
    held = _hold(page, "**/api/runs/long/timeline")
    page.goto(traced.address("timeline", run="long"))
    message = page.locator(".timeline > .quiet")
    expect(message).to_contain_text("spans are shown. The others are being read")
    expect(root(page)).to_have_attribute("data-drawn", "yes")
    num_spans = int(root(page).get_attribute("data-spans") or 0)
    page.locator(".timeline canvas").focus()
    page.keyboard.press("Enter")
    expect(root(page)).to_have_attribute("data-selected", re.compile("."))
    name = root(page).get_attribute("data-selected")
    page.keyboard.press("m")
    page.get_by_role("searchbox").fill("matmul")
    wait_until(page, lambda: held, "the other spans were not asked for")
    held[0].continue_()
    view_of(page)
    expect(message).to_contain_text("Click an op for its details")
    assert int(root(page).get_attribute("data-spans") or 0) > num_spans
    expect(root(page)).to_have_attribute("data-selected", name or "")
    details = page.locator(".timeline .details")
    expect(details.get_by_role("table").get_by_role("row")).to_have_count(1 + 4)
    expect(page.locator(".timeline .range h3")).to_contain_text(re.compile(r"selected.*\d ops"))
    expect(page.locator(".timeline .count").first).to_contain_text("found")
    expect(page).to_have_url(re.compile(r"range=.*op="))
    link = page.url.replace("run=long", "run=long-linked")
    # Another run with the same spans, of which the lab has none in memory.
    shutil.copytree(traced.runs / "long", traced.runs / "long-linked")
    _open_linked(page, link, name or "")


def _hold(page: Page, address: str) -> list[Route]:
    """The requests for an address, which are answered once the test continues them."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(address, hold)
    return held


def _open_linked(page: Page, link: str, name: str) -> None:
    """A link to an op and a range shows the first spans, and selects both once it has all."""
    held = _hold(page, "**/api/runs/long-linked/timeline")
    page.goto(link)
    expect(page.locator(".timeline > .quiet")).to_contain_text("The others are being read")
    expect(root(page)).to_have_attribute("data-drawn", "yes")
    wait_until(page, lambda: held, "the other spans were not asked for")
    expect(root(page)).to_have_attribute("data-selected", "")
    assert page.url == link, "the address keeps what is not selected yet"
    held[0].continue_()
    view_of(page)
    expect(root(page)).to_have_attribute("data-selected", name)
    expect(page.locator(".timeline .range h3")).to_contain_text(re.compile(r"selected.*\d ops"))


MOVED = """async ([address, before, after]) => {
    const { moved } = await import(address);
    const { track, row } = moved(before, after);
    return [[0, 1].map(track), [0, 1, 2].map(row)];
}"""


def test_a_span_stays_on_its_lane_when_its_track_gets_another_place(
    open_page: Open, traced: Server
) -> None:
    def tracks(*rows: int) -> list[dict[str, Any]]:
        return [
            {
                "worker": 0,
                "replica": replica,
                "device": "d",
                "first_row": sum(rows[:replica]),
                "num_rows": num_rows,
            }
            for replica, num_rows in enumerate(rows)
        ]

    page = open_page(traced.address())
    with page.expect_request("**/timeline/unread.js*") as module:
        page.goto(traced.address("timeline", run="strange"))
    before, after = tracks(2, 1, 1)[:2], [{**tracks(9)[0], "worker": 1}, *tracks(4, 3, 1)]
    assert page.evaluate(MOVED, [module.value.url, before, after]) == [[1, 2], [0, 1, 4]]


def test_keys_pan_zoom_and_go_from_capture_to_capture(timeline: Page) -> None:
    canvas = timeline.locator(".timeline canvas")
    canvas.focus()
    first = view_of(timeline)
    timeline.keyboard.press("ArrowUp")
    closer = view_of(timeline, other_than=first)
    assert closer[1] - closer[0] < first[1] - first[0]
    timeline.keyboard.press("ArrowRight")
    later = view_of(timeline, other_than=closer)
    assert later[0] > closer[0]
    timeline.keyboard.press("[")
    earlier = view_of(timeline, other_than=later)
    assert earlier[1] < first[0]
    timeline.keyboard.press("Home")
    whole = view_of(timeline, other_than=earlier)
    assert whole[1] - whole[0] > 3 * (first[1] - first[0])


def test_the_wheel_zooms_where_the_pointer_is(timeline: Page) -> None:
    box = canvas_box(timeline)
    before = view_of(timeline)
    timeline.mouse.move(box["x"] + box["width"] - 100, box["y"] + 90)
    timeline.mouse.wheel(0, -400)
    after = view_of(timeline, other_than=before)
    assert after[0] - before[0] > before[1] - after[1]


def go_to_the_first(page: Page, words: str) -> None:
    """Search for words, and move the view to the first span that is found."""
    before = view_of(page)
    find = page.get_by_role("searchbox")
    find.fill(words)
    expect(page.locator(".timeline .count")).to_contain_text("found")
    find.press("Enter")
    expect(page.locator(".timeline .count")).to_contain_text(" of ")
    view_of(page, other_than=before)


def test_a_span_tells_what_it_is_and_where_its_like_are(timeline: Page) -> None:
    go_to_the_first(timeline, "matmul")
    hover_over_a(timeline, "MatMul")
    timeline.mouse.down()
    timeline.mouse.up()
    expect(root(timeline)).to_have_attribute("data-selected", re.compile("MatMul"))
    details = timeline.locator(".timeline .details")
    expect(details).to_contain_text("/device:CPU:")
    copies = details.get_by_role("table").get_by_role("row")
    expect(copies).to_have_count(1 + 4)
    for replica in range(4):
        expect(copies.nth(1 + replica)).to_contain_text(f"replica {replica}")


def test_an_injected_delay_is_called_so(open_page: Open, traced: Server) -> None:
    delay = {"replica": 3, "ms": 30.0}
    traced.write_run("two-hosts", **TWO_HOSTS, steps=40, straggler=(3, 30.0), inject=[delay])
    page = open_page(traced.address("timeline", run="two-hosts"))
    wait_until_drawn(page)
    go_to_the_first(page, "injected")
    hover_over_a(page, "injected", names_px=224)  # with that of the worker
    expect(page.locator(".timeline .tip")).to_contain_text("ms · injected delay")
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".timeline .details")).to_contain_text(re.compile("Category *injected"))


def hover_over_a(page: Page, op: str, names_px: int = 150) -> None:
    """A hit is brought into the middle, on whatever row it is: look down the rows for it."""
    box = canvas_box(page)
    middle = box["x"] + names_px + (box["width"] - names_px) / 2
    for offset in range(70, int(box["height"]), 6):
        page.mouse.move(middle, box["y"] + offset)
        wait_for_a_frame(page)
        if op in (page.locator(".timeline .tip:not([hidden])").all_inner_texts() or [""])[0]:
            return
    pytest.fail(f"no {op} under the pointer")


def test_a_drag_selects_and_its_link_shows_the_same(timeline: Page) -> None:
    before = view_of(timeline)
    drag(timeline, (400, 90), (700, 130))
    panel = timeline.locator(".timeline .range")
    expect(panel).to_contain_text("ms selected")
    expect(panel.locator(".phase-table")).to_contain_text("compute")
    expect(panel).to_contain_text("Ops by self time")
    assert view_of(timeline) == before  # a drag does not pan
    chosen = root(timeline).get_attribute("data-range")
    timeline.keyboard.press("Enter")
    expect(root(timeline)).to_have_attribute("data-selected", re.compile("."))
    name = root(timeline).get_attribute("data-selected")
    expect(timeline).to_have_url(re.compile("op="))
    said = panel.locator("h3").inner_text()
    timeline.reload()
    wait_until_drawn(timeline)
    assert view_of(timeline) == before
    assert root(timeline).get_attribute("data-range") == chosen
    expect(root(timeline)).to_have_attribute("data-selected", name or "")
    expect(panel.locator("h3")).to_have_text(said)
    timeline.locator(".timeline canvas").focus()
    timeline.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(timeline).not_to_have_url(re.compile("range="))


def test_an_edge_can_be_moved_and_shift_pans(timeline: Page) -> None:
    before = view_of(timeline)
    drag(timeline, (400, 40), (700, 40))
    first = chosen_range(timeline)
    drag(timeline, (700, 45), (800, 45))
    second = chosen_range(timeline)
    assert second[0] == first[0]
    assert second[1] > first[1]
    timeline.keyboard.down("Shift")
    drag(timeline, (700, 90), (500, 90))
    timeline.keyboard.up("Shift")
    assert view_of(timeline, other_than=before)[0] > before[0]
    assert chosen_range(timeline) == second


POINT = """step => {
    const plot = document.querySelector('.st-key-overview_wall .js-plotly-plot');
    const { _size: size, xaxis, yaxis } = plot._fullLayout;
    const line = plot._fullData.find((trace) => trace.mode.startsWith('lines'));
    const at = Array.from(line.x).indexOf(step);
    const box = plot.getBoundingClientRect();
    return [box.x + size.l + xaxis.c2p(line.x[at]), box.y + size.t + yaxis.c2p(line.y[at])];
}"""
"""Where the chart of step times shows a step."""


def test_a_point_of_a_chart_leads_to_its_step_and_back(open_page: Open, traced: Server) -> None:
    page = open_page(traced.address("overview", run="traced"))
    wait_until_drawn(page)
    chart = page.locator(".st-key-overview_wall .js-plotly-plot")
    chart.scroll_into_view_if_needed()
    x, y = page.evaluate(POINT, 57)
    page.mouse.move(x, y)
    expect(chart.locator(".hoverlayer")).to_contain_text("step 57")
    page.mouse.click(x, y)
    page.wait_for_url("**/timeline?**")
    wait_until_drawn(page)
    # Steps 40 to 49 are captured.
    expect(page.locator(".timeline .note")).to_contain_text("Step 57 was not captured")
    heading = page.locator(".timeline .range h3").inner_text()
    step = re.findall(r"step (\d+)", heading)[0]
    page.get_by_role("button", name=f"Step {step} in its run").click()
    page.wait_for_url(f"**/overview?**step={step}")
    marks = page.locator(".js-plotly-plot .annotation-text")
    expect(marks.filter(has_text=f"step {step}").first).to_be_attached()


def drag(page: Page, start: tuple[int, int], end: tuple[int, int]) -> None:
    box = canvas_box(page)
    page.mouse.move(box["x"] + start[0], box["y"] + start[1])
    page.mouse.down()
    page.mouse.move(box["x"] + end[0], box["y"] + end[1], steps=3)
    page.mouse.up()


def chosen_range(page: Page) -> list[int]:
    text = root(page).get_attribute("data-range") or ""
    return [int(part) for part in text.split("-")]


def canvas_box(page: Page) -> FloatRect:
    box = page.locator(".timeline canvas").bounding_box()
    assert box
    return box


def test_a_run_without_captures_says_what_to_do(open_page: Open, traced: Server) -> None:
    page = open_page(traced.address("timeline", run="bare"))
    expect(page.get_by_text("Turn on “Capture every step in full”")).to_be_visible()


def test_names_are_never_markup(open_page: Open, traced: Server) -> None:
    page = open_page(traced.address("timeline", run="strange"), color_scheme="dark")
    page.on("dialog", lambda _dialog: pytest.fail("a run's text was executed"))
    wait_until_drawn(page)
    view_of(page)
    box = canvas_box(page)
    for x in range(200, 1200, 100):
        page.mouse.move(box["x"] + x, box["y"] + 80)
        page.mouse.down()
        page.mouse.up()
        wait_for_a_frame(page)
    expect(root(page)).to_have_attribute("data-selected", re.compile(re.escape("<")))
