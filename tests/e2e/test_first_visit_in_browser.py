"""A first visit: modules load early, styles are computed once, and no segment is cut off."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from strategy_app.server.assets import needed
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until, wait_until_drawn
from tests.e2e.layout_shift import GOOD, layout_shift, watch_layout
from tests.plugins.leaves import from_doors
from tests.profiles.served_run import write_served_run

pytestmark = pytest.mark.browser
_TABLES_AND_FIELDS = "DataFrame|ButtonGroup|TextInput|Multiselect|Selectbox"
LATE = re.compile(rf"/({_TABLES_AND_FIELDS})\.")
"""Modules that draw tables and fields: a slow network delivers them after the rest."""
PARTS = re.compile(rf"/(Html|Button|PageLink|NumberInput|{_TABLES_AND_FIELDS})\.")
"""These, and modules that draw other parts."""
MODULE = re.compile(r"static/js/([\w.-]+\.js)")
QUERIES = {
    "/": {},
    "/compare": {"a": "seen", "b": "seen-again"},
}
for queries in from_doors("QUERIES"):
    QUERIES |= queries
SEEN = {"run": "seen"}
IS_CUT = "group => group.scrollWidth > group.clientWidth"


@pytest.fixture(scope="module")
def seen(server: Server) -> Server:
    for name in ("seen", "seen-again"):
        server.write_run(name, steps=60, windows=1, straggler=(2, 30.0))
    server.write_run("seen-on-tpu", strategy="tpu", replicas=2, cores_per_replica=3)
    shutil.rmtree(server.runs / "seen-with-servers", ignore_errors=True)
    write_served_run(server.runs / "seen-with-servers")
    return server


@pytest.mark.long(keep=3)
@pytest.mark.parametrize("path", needed())
def test_all_modules_of_a_page_are_announced_with_it(
    path: str, open_page: Callable[..., Page], seen: Server
) -> None:
    address = seen.address(path.lstrip("/"), **QUERIES.get(path, SEEN))
    page = open_page("about:blank")
    loaded: set[str] = set()
    page.on("request", lambda request: loaded.update(MODULE.findall(request.url)))
    answer = page.goto(address)
    assert answer is not None
    named = set(MODULE.findall(answer.headers["link"] + answer.text()))
    wait_until_drawn(page)
    assert loaded - named == set()


def test_what_a_page_draws_leaves_the_style_of_the_rest_as_it_is(
    open_page: Callable[..., Page], seen: Server, tmp_path: Path
) -> None:
    """Each label of a chart is measured, which computes all styles that may have changed.

    A rule such as `.stApp:has(...) .block` makes that all elements of the page, for each label:
    34,000 to 109,000 in all where 10,000 are enough, and a second of a first visit.
    """
    page = open_page("about:blank")
    browser = page.context.browser
    assert browser is not None
    browser.start_tracing(page=page, path=tmp_path / "trace.json", categories=["devtools.timeline"])
    page.goto(seen.address("overview", **SEEN))
    wait_until_drawn(page)
    browser.stop_tracing()
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    styled = [event["args"] for event in events if event["name"] == "UpdateLayoutTree"]
    num_elements = sum(each.get("elementCount", 0) for each in styled)
    assert 1_000 < num_elements < 30_000


def test_charts_are_not_drawn_again_without_a_change(
    open_page: Callable[..., Page], seen: Server
) -> None:
    page = open_page(seen.address("overview", **SEEN))
    wait_until_drawn(page)
    charts = page.locator(".lab-chart .js-plotly-plot")
    charts.evaluate_all(
        "charts => charts.forEach(chart => { chart.numDrawn = 0; "
        "chart.on('plotly_afterplot', () => { chart.numDrawn += 1; }); })"
    )
    count = "charts => charts.map(chart => chart.numDrawn)"
    page.get_by_role("button", name="Rerun").or_(page.locator("body")).first.press("r")
    page.locator("[data-test-script-state=notRunning]").wait_for()
    wait_until_drawn(page)
    drawn = charts.evaluate_all(count)
    assert len(drawn) >= 3
    assert not any(drawn)
    page.set_viewport_size({"width": 900, "height": 700})
    wait_until(page, lambda: all(charts.evaluate_all(count)), "a chart kept its width")


def test_the_library_that_draws_charts_starts_before_the_first_chart_is_there(
    open_page: Callable[..., Page], server: Server
) -> None:
    """The server sends charts some time after the first sentence; the browser uses it."""
    server.write_run("without-charts", steps=0, windows=0)
    page = open_page("about:blank")
    page.route("**/frontend/plotly-*.js", _note_start)
    page.goto(server.address("overview", run="without-charts"))
    wait_until_drawn(page)
    expect(page.locator(".lab-chart")).to_have_count(0)
    page.wait_for_function("window.chartLibraryHasStarted")
    page.goto(server.address("timeline", run="without-charts"))  # which has no such charts
    wait_until_drawn(page)
    assert not page.evaluate("window.chartLibraryHasStarted")


def _note_start(route: Route) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text() + "\nwindow.chartLibraryHasStarted = true;")


def test_no_segment_of_a_run_is_cut_off(open_page: Callable[..., Page], seen: Server) -> None:
    changes = [{}, {"replicas": 2}, {"strategy": "central-storage"}, {"replicas": 3}]
    seen.write_run("many-segments", steps=80, segments=changes)
    page = open_page(
        seen.address("compare", a="many-segments", b="many-segments"),
        viewport={"width": 390, "height": 844},
    )
    wait_until_drawn(page)
    groups = page.get_by_role("radiogroup").all()
    assert len(groups) == 2
    assert not any(group.evaluate(IS_CUT) for group in groups)


def test_the_overview_keeps_its_places_while_parts_of_it_load(
    open_page: Callable[..., Page], seen: Server
) -> None:
    """Its sentence, its key numbers and the picker of a run come later than the rest."""
    page = open_page("about:blank", viewport={"width": 1280, "height": 720})
    held: dict[str, Route] = {}
    for module in ("Html", "Selectbox"):
        page.route(re.compile(rf"/{module}\."), partial(held.__setitem__, module))
    watch_layout(page)
    page.goto(seen.address("overview", **SEEN), wait_until="commit")
    title = page.get_by_role("heading", name="Why", exact=True)
    expect(page.get_by_role("heading", name="What to do")).to_be_visible()
    before = title.bounding_box()
    wait_until(page, lambda: len(held) == 2, "the page did not ask for both")
    for module in held.values():
        module.continue_()
    expect(page.get_by_role("combobox", name="Run")).to_be_visible()
    expect(page.locator(".lab-tile").first).to_be_visible()
    wait_until_drawn(page)
    assert title.bounding_box() == before
    assert layout_shift(page) < GOOD


@pytest.mark.parametrize("path", ["communication", "placement"])
def test_tables_and_fields_have_their_places_before_the_browser_can_draw_them(
    path: str, open_page: Callable[..., Page], seen: Server
) -> None:
    page = open_page("about:blank", viewport={"width": 1280, "height": 720})
    held = hold(page, LATE)
    page.goto(seen.address(path, **SEEN), wait_until="commit")
    last = page.get_by_role("heading").last
    grids = page.locator("[class*=st-key-grid_rows_]")
    expect(grids.first).to_be_visible()
    page.locator("[data-test-script-state=notRunning]").wait_for()
    draws_tables = re.compile(r"/DataFrame\.")
    wait_until(
        page,
        lambda: any(draws_tables.search(route.request.url) for route in held),
        "the page did not ask for what draws tables",
    )
    heading, before = last.text_content(), tops_of([last, *grids.all()])
    page.route(LATE, lambda route: route.continue_())  # those that it asks for from now on
    for module in held:
        module.continue_()
    wait_until_drawn(page)
    assert last.text_content() == heading
    assert tops_of([last, *grids.all()]) == pytest.approx(before, abs=3)  # lines are rounded


@pytest.mark.long(keep=3)
@pytest.mark.parametrize("path", needed())
def test_nothing_moves_on_a_phone_whichever_script_comes_last(
    path: str, open_page: Callable[..., Page], seen: Server
) -> None:
    """What draws a part comes late, and that of the parts further up comes last."""
    page = open_page("about:blank", viewport={"width": 390, "height": 844})
    held = hold(page, PARTS)
    watch_layout(page)
    page.goto(seen.address(path.lstrip("/"), **QUERIES.get(path, SEEN)), wait_until="commit")
    page.locator("[data-test-script-state=notRunning]").wait_for()
    page.route(PARTS, lambda route: route.continue_())  # those that it asks for from now on
    for module in reversed(held):
        module.continue_()
        page.wait_for_timeout(400)  # within 300 ms React would draw the parts together
    wait_until_drawn(page)
    assert layout_shift(page) < GOOD


def hold(page: Page, pattern: re.Pattern[str]) -> list[Route]:
    """The requests that a page makes for what fits a pattern, which do not go on by themselves."""
    held: list[Route] = []
    page.route(pattern, lambda route: held.append(route))  # noqa: PLW0108
    return held


def tops_of(places: list[Locator]) -> list[float]:
    boxes = [place.bounding_box() for place in places]
    return [box["y"] for box in boxes if box is not None]


def test_the_timeline_of_a_run_without_captures_keeps_no_place_for_them(
    open_page: Callable[..., Page], server: Server
) -> None:
    server.write_run("never-captured", steps=30, windows=0)
    page = open_page("about:blank")
    watch_layout(page)
    page.goto(server.address("timeline", run="never-captured"))
    wait_until_drawn(page)
    page.get_by_text("No step of this run was captured in full").wait_for()
    assert layout_shift(page) < GOOD
