"""The pages about runs in real Chromium: drawn whole, no error, links that lead there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from strategy_app.widgets.table import WRAPPED_PX
from strategy_profiles.examples import EXAMPLES, unpack
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Event, Failed, Finished, Note, WorkerStarted
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import Program, create_run_file
from tests.e2e.conftest import Server
from tests.e2e.drawn import go, wait_until, wait_until_drawn
from tests.e2e.layout_shift import GOOD, layout_shift, watch_layout
from tests.growing_run import add_event, add_step, begin_run, end_run
from tests.plugins.leaves import from_doors
from tests.synthetic import HOSTILE
from tests.synthetic.stacks import stack_place

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
WATCH_FOR_BLANKS = """() => {
    const drawn = () => document.querySelectorAll('.lab-chart .main-svg').length;
    const atFirst = drawn();
    window.numBlank = 0;
    const look = () => {
        if (drawn() < atFirst) window.numBlank++;
        requestAnimationFrame(look);
    };
    look();
}"""
"""Counts the frames in which a chart that was there is not."""
CHARTS = {"overview": ("late", 3), "communication": ("late", 1)}
for charts in from_doors("CHARTS"):
    CHARTS |= charts
"""A run by page, and how many charts the page draws of it."""
CAPTURED = Path(__file__).parents[1] / "data/captured_step"


@pytest.fixture(scope="module")
def runs(server: Server) -> Path:
    """The served folder with runs of a known truth in it."""
    server.write_run("late", steps=200, straggler=(2, 30.0))
    server.write_run("quick", steps=200, seed=4)
    delay = {"replica": 2, "ms": 30.0}
    server.write_run("delayed", steps=40, windows=1, straggler=(2, 30.0), inject=[delay])
    server.write_run("hostile-pages", steps=40, windows=1, prefix=HOSTILE)
    server.write_run("long-names", steps=40, windows=1, prefix="model/encoder/layer_11/attention/")
    server.write_run("half-batch", steps=200, global_batch_size=128)
    server.write_run("failed", steps=40, windows=1, ending="failed")
    message = "ModuleNotFoundError: No module named 'scipy'"
    without_step(server.fresh("failed-early"), Failed(message, f"Traceback\n{message}"))
    note = Note("warning", "No step was found: the program computes no gradients.")
    without_step(server.fresh("no-step-found"), note, Finished("finished", 0))
    shutil.copytree(CAPTURED, server.runs / "captured")
    return server.runs


def without_step(run: Path, *events: Event) -> None:
    """Write the record of a traced program that ended before its first step."""
    run.mkdir()
    uid = create_run_file(run, program=Program("train.py")).uid
    log = EventLog(worker_folder(run, 0).events)
    for event in (WorkerStarted(0, 1, 1, 1, uid), *events):
        log.write(event)
    log.close()


@pytest.fixture
def visit(open_page: Callable[..., Page], server: Server, runs: Path) -> Callable[..., Page]:
    """Open a page about runs and wait until all of it is drawn."""
    assert runs.exists()

    def opened(name: str, *, options: dict[str, Any] | None = None, **query: str) -> Page:
        page = open_page(server.address(name, **query), **(options or {}))
        wait_until_drawn(page)
        assert page.locator("[data-testid=stException]").count() == 0
        return page

    return opened


@pytest.mark.parametrize("name", CHARTS)
def test_a_deep_link_draws_the_whole_page(visit: Visit, name: str) -> None:
    run, num_charts = CHARTS[name]
    page = visit(name, run=run)
    expect(page.locator(".lab-headline")).to_be_visible()
    charts = page.locator(".lab-chart", has=page.locator(".main-svg"))
    wait_until(page, lambda: charts.count() >= num_charts, f"fewer than {num_charts} charts")
    expect(page.get_by_role("link", name="Why")).to_be_visible()


def test_the_overview_names_the_straggler_and_defines_its_numbers(visit: Visit) -> None:
    page = visit("overview", run="late")
    expect(page.locator(".lab-headline")).to_contain_text("Replica 2 is late by")
    tile = page.locator(".lab-tile").first
    expect(tile.locator(".definition")).to_be_hidden()
    tile.hover()
    expect(tile.locator(".definition")).to_contain_text("Wall time of the training loop")
    box = tile.locator(".definition").bounding_box()
    assert box is not None
    assert box["height"] > 30


def test_choosing_another_run_changes_the_address_and_survives_a_reload(visit: Visit) -> None:
    page = visit("overview", run="late")
    page.get_by_role("combobox").first.click()
    page.keyboard.type("quick")  # a long list renders only the options in view
    page.get_by_role("option", name="quick").click()
    expect(page.locator(".lab-headline")).not_to_contain_text("is late")
    page.wait_for_url("**/overview?run=quick*")
    page.reload()
    wait_until_drawn(page)
    expect(page.locator(".lab-headline")).not_to_contain_text("is late")


def test_the_run_stays_chosen_from_page_to_page(visit: Visit) -> None:
    page = visit("overview", run="late")
    page.get_by_role("link", name="Communication").click()
    page.wait_for_url("**/communication?run=late*")


def test_the_comparison_says_how_much_the_runs_differ(visit: Visit) -> None:
    page = visit("compare", a="late", b="quick")
    expect(page.locator(".lab-headline")).to_contain_text("less per step in B than in A")
    page.get_by_role("button", name="⇄").click()
    expect(page.locator(".lab-headline")).to_contain_text("longer per step in B than in A")
    expect(page).to_have_url(re.compile("a=quick"))


def test_hostile_names_are_text(visit: Visit, server: Server) -> None:
    page = visit("overview", run="hostile-pages")
    for name in ("overview", "communication", "placement", "runs"):
        if name != "overview":
            go(page, server.address(name, run="hostile-pages"))
        expect(page.get_by_test_id("stException")).to_have_count(0)
        assert page.locator("script", has_text="alert('x')").count() == 0


PHONE = {"viewport": {"width": 390, "height": 844}}


def test_on_a_phone_tables_are_lists_in_order_and_nothing_scrolls_to_the_side(visit: Visit) -> None:
    placement = visit("placement", run="captured", options=PHONE)
    types = placement.locator("[data-label='Commonest op types']").first
    expect(types).to_be_visible()
    listed = placement.locator(".st-key-narrow_table_placement_variables")
    expect(listed.locator("tbody th").first).to_be_visible()
    expect(placement.locator(".st-key-narrow_ops_table tbody th").first).to_be_visible()
    expect(placement.locator("canvas[data-testid=data-grid-canvas]:visible")).to_have_count(0)
    placement.set_viewport_size({"width": 1280, "height": 720})
    expect(types).to_be_visible()
    expect(placement.locator(".st-key-wide_table_placement_variables")).to_be_visible()
    expect(placement.locator(".st-key-wide_ops_table")).to_be_visible()
    expect(listed).to_be_hidden()
    overview = visit("overview", run="late", options=PHONE)
    expect(overview.locator(".lab-table")).to_have_count(6)
    wide = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert overview.locator(".lab-table").evaluate_all(wide) == 0
    titles = ("What to do", "Where the loop's time goes", "Memory in use", "Loss")
    tops = [
        (overview.get_by_role("heading", name=title, exact=True).bounding_box() or {})["y"]
        for title in titles
    ]
    assert tops == sorted(tops), f"the order of {titles} is another: {tops}"


def test_a_long_name_in_a_table_has_several_lines(visit: Visit) -> None:
    """The grid has no tooltips: what a row of one line would cut, nothing else says."""
    page = visit("communication", run="long-names")
    grid = page.locator(".st-key-wide_table_collectives").get_by_test_id("stDataFrame")
    box = grid.bounding_box()
    assert box is not None
    assert box["height"] > 2 * WRAPPED_PX, "its two rows have lines of their own"


def test_the_line_above_the_headline_is_whole_on_a_phone(visit: Visit) -> None:
    """And cause and remedy are in sight below it."""
    page = visit("overview", run="late", options=PHONE)
    ran = page.locator(".lab-headline .ran")
    expect(ran).to_contain_text("examples/s")
    assert ran.evaluate("line => line.scrollWidth <= line.clientWidth")
    assert ran.evaluate(
        "line => line.clientHeight > 1.5 * parseFloat(getComputedStyle(line).fontSize)"
    )
    expect(page.get_by_text("Try:").first).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("path", ["", "overview", "timeline", "communication", "placement"])
def test_a_run_that_failed_before_its_first_step_says_why_once_and_what_to_do(
    visit: Visit, path: str
) -> None:
    page = visit(path, run="failed-early")
    expect(page.get_by_text("No module named").filter(visible=True)).to_have_count(1)
    expect(page.get_by_text("The run failed before its first step")).to_be_visible()
    said = page.get_by_text("Change what the message names").filter(visible=True)
    expect(said).to_have_count(1)


def test_a_failed_run_says_its_message_once_beside_its_steps(visit: Visit) -> None:
    page = visit("", run="failed")
    expect(page.locator(".live .chip")).to_have_text("Failed")
    expect(page.locator(".live .news")).to_contain_text("The run failed.")
    expect(page.get_by_text("loss is NaN").filter(visible=True)).to_have_count(1)


def test_the_timeline_of_a_run_without_a_step_says_what_it_lacks_and_why(visit: Visit) -> None:
    page = visit("timeline", run="no-step-found")
    expect(page.get_by_text("This run recorded no step.")).to_be_visible()
    expect(page.get_by_text("No step was found: the program")).to_be_visible()


@pytest.mark.parametrize(
    ("other", "figure", "words"),
    [("quick", "Loop time per step", "shorter"), ("half-batch", "Throughput of the loop", "lower")],
)
def test_the_chart_of_a_comparison_has_the_words_of_its_figure(
    visit: Visit, other: str, figure: str, words: str
) -> None:
    chart = visit("compare", a="late", b=other).locator(".st-key-compare_ratio")
    expect(chart).to_contain_text(f"{figure}, B / A")
    expect(chart).to_contain_text(f"{words} in B")


def test_the_words_of_phases_are_whole_on_a_phone(visit: Visit) -> None:
    page = visit("overview", run="delayed", options=PHONE)
    chart = page.locator(".st-key-bars_breakdown .lab-bars")
    expect(chart.locator(".legend li", has_text="injected delay")).to_be_visible()
    words, box = chart.locator(".legend li"), chart.bounding_box()
    assert box is not None
    for word in words.all():
        place = word.bounding_box()
        assert place is not None
        assert place["x"] + place["width"] <= box["x"] + box["width"], word.text_content()


def test_the_buttons_of_charts_cover_no_legend_on_a_phone(visit: Visit) -> None:
    page = visit("overview", run="delayed", options=PHONE | {"has_touch": True, "is_mobile": True})
    buttons = page.locator(".modebar-container")
    expect(buttons).not_to_have_count(0)
    expect(buttons.filter(visible=True)).to_have_count(0)


def test_the_buttons_of_a_chart_have_the_background_of_the_page(visit: Visit) -> None:
    page = visit("overview", run="delayed", options={"color_scheme": "dark"})
    buttons = page.locator(".modebar-group").first
    expect(buttons).to_have_css("background-color", "rgba(16, 21, 28, 0.5)")
    page.emulate_media(color_scheme="light")
    expect(buttons).to_have_css("background-color", "rgba(255, 255, 255, 0.5)")


def test_a_row_is_chosen_on_a_phone(visit: Visit) -> None:
    page = visit("communication", run="late", options=PHONE)
    box, options = page.get_by_role("combobox", name="Choose a row"), page.get_by_role("option")

    def is_open() -> bool:
        box.press("ArrowDown")
        return options.count() > 1

    # What is above may still grow, and an open list is closed when its box moves.
    wait_until(page, is_open, "the list of rows does not open")
    options.nth(1).click()
    expect(page.get_by_text("all-reduce 2")).to_be_visible()


def test_the_list_of_runs_on_a_phone_leads_to_their_overviews(visit: Visit) -> None:
    page = visit("runs", find="quick", options=PHONE)  # other tests' runs fill the first page
    page.get_by_role("link", name="quick", exact=True).click()
    page.wait_for_url("**/overview?run=quick*")
    wait_until_drawn(page)


def test_on_a_phone_the_list_of_runs_begins_on_the_first_screen(visit: Visit) -> None:
    page = visit("runs", options=PHONE)
    tags, group = (page.locator(f".st-key-{key}").bounding_box() for key in ("tags", "group"))
    assert tags is not None
    assert group is not None
    assert tags["y"] == group["y"], "they are beside each other"
    expect(page.locator("[class*=st-key-narrow_] a").nth(1)).to_be_in_viewport(ratio=1)


def test_the_answer_of_a_query_is_a_list_on_a_phone(visit: Visit) -> None:
    page = visit("runs", run="quick", options=PHONE)
    page.get_by_role("tab", name="SQL").click()
    page.get_by_role("button", name="Run the query").click()
    expect(page.locator(".st-key-narrow_sql_answer [data-label=wall_ms]").first).to_be_visible()


def test_a_live_run_never_changes_the_page_unasked(visit: Visit, server: Server) -> None:
    """What is new is announced, without a blank frame; it is shown when it is asked for."""
    live = begin_run(server.fresh("growing-pages"), steps=20)
    try:
        page = visit("overview", run=live.name)
        note = page.locator(".lab-tile .note", has_text="median of")
        expect(note).to_contain_text("19 steps")
        page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop = 300")
        page.evaluate(WATCH_FOR_BLANKS)
        for step in range(20, 40):
            add_step(live, step)
        show = page.get_by_role("button", name="Show 20 new steps")
        expect(show).to_be_enabled()
        assert page.evaluate("window.numBlank") == 0
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 300
        expect(note).to_contain_text("19 steps")
        show.click()
        expect(note).to_contain_text("39 steps")
    finally:
        end_run(live)


def test_the_place_run_follows_a_live_run_and_says_its_cause_so_far(
    visit: Visit, server: Server
) -> None:
    """In sight, and nothing moves. When the run ends, the page is about all of it."""
    live = begin_run(server.fresh("cause-so-far"), steps=40, windows=1, straggler=(2, 30.0))
    try:
        page = visit("runs", run=live.name, viewport={"width": 1280, "height": 720})
        watch_layout(page)
        page.get_by_test_id("stTopNavLink").filter(has_text=re.compile("^Run$")).click()
        page.wait_for_url(f"**/?run={live.name}")
        cause = page.locator(".st-key-cause_so_far")
        expect(cause).to_contain_text("After 40 steps")
        expect(cause).to_contain_text(re.compile("Replica 2 .*Try: "))
        expect(cause.get_by_text("Try:")).to_be_in_viewport()
        page.reload()
        expect(cause.get_by_text("Try:")).to_be_visible()
        assert layout_shift(page) < GOOD
        why = page.locator(".st-key-page_row").get_by_role("link", name="Why", exact=True)
        assert why.get_attribute("href") == f"?run={live.name}"
        add_event(live, Finished("finished", 40))
        expect(page.locator(".st-key-cause .lab-headline")).to_contain_text("the loop takes")
        expect(cause).to_have_count(0)
        expect(why).to_have_attribute("href", f"overview?run={live.name}")
    finally:
        end_run(live)


def watched(visit: Visit, server: Server, run: str, size: tuple[int, int]) -> Page:
    """The page of a run in a window of that size, whose layout shifts are counted."""
    options = {"viewport": {"width": size[0], "height": size[1]}}
    page = visit("runs", run=run, options=options)
    watch_layout(page)
    page.goto(server.address(run=run))
    return page


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)], ids=["laptop", "phone"])
@pytest.mark.parametrize("is_of_lab", [True, False], ids=["own", "traced"])
def test_cause_line_and_bars_are_on_the_first_screen_of_a_running_run(
    visit: Visit, server: Server, size: tuple[int, int], is_of_lab: bool
) -> None:
    """And nothing moves when its first numbers come."""
    where = stack_place("op", 31, "norms.append(tf.norm(v))", call="norm_v2")
    gaps = None if is_of_lab else [(step, 30.0, where) for step in range(1, 39)]
    recipe = {"windows": 1, "straggler": (2, 30.0), "is_of_lab": is_of_lab, "marks": is_of_lab}
    live = begin_run(server.fresh("first-screen"), steps=40, gaps=gaps, **recipe)
    try:
        page = watched(visit, server, live.name, size)
        cause = page.locator(".st-key-cause_so_far")
        expect(cause.get_by_text("Try:")).to_be_in_viewport(ratio=1)
        bars = page.locator(f"[data-panel={'phases' if is_of_lab else 'capture'}] canvas")
        expect(bars).to_be_in_viewport(ratio=1)
        if not is_of_lab:
            expect(cause.locator(".lab-code .lit .number")).to_have_text("31")
            expect(cause.locator(".lab-code .lit")).to_be_in_viewport(ratio=1)
        assert layout_shift(page) < GOOD
    finally:
        end_run(live)


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)], ids=["laptop", "phone"])
def test_before_its_first_step_a_run_says_what_it_does_without_empty_places(
    visit: Visit, server: Server, size: tuple[int, int]
) -> None:
    """The room of the cause comes with the first step, and nothing that is in sight moves."""
    live = begin_run(server.fresh("first-step"), steps=0, windows=0)
    try:
        page = watched(visit, server, live.name, size)
        cause = page.locator(".st-key-cause_so_far")
        expect(cause).to_contain_text("Before the first step")
        expect(page.locator(".live .doing")).to_be_in_viewport(ratio=1)
        expect(page.locator(".live .news li").last).to_be_in_viewport(ratio=1)
        expect(page.locator(".live .tiles")).to_be_hidden()
        assert cause.bounding_box()["height"] < 0.2 * size[1]
        for step in range(8):
            add_step(live, step)
        expect(page.locator(".live .tiles")).to_be_visible()
        expect(cause).to_contain_text("After 8 steps")
        assert layout_shift(page) < GOOD / 4
    finally:
        end_run(live)


def test_a_live_run_is_followed_on_request(visit: Visit, server: Server) -> None:
    live = begin_run(server.fresh("followed"), steps=20)
    try:
        page = visit("overview", run=live.name)
        page.get_by_text("Follow the run").click()
        for step in range(20, 30):
            add_step(live, step)
        note = page.locator(".lab-tile .note", has_text="median of")
        expect(note).to_contain_text("29 steps")
    finally:
        end_run(live)


def test_an_export_is_downloaded(visit: Visit, tmp_path: Path) -> None:
    page = visit("runs", run="quick")
    with page.expect_download() as started:
        page.get_by_role("button", name="Download JSON").click()
    target = tmp_path / "quick.json"
    started.value.save_as(target)
    assert started.value.suggested_filename == "quick.json"
    assert '"schema_version"' in target.read_text()[:200]


def test_tags_are_saved_while_their_list_is_open_and_filter_the_runs(
    visit: Visit, server: Server
) -> None:
    names = ("tagged", "tagged-as-well")
    for name in names:
        server.write_run(name, steps=5, windows=0)
    for name in names:
        page = visit("runs", run=name)
        page.get_by_role("button", name="Tags …").click()
        tags = page.get_by_role("dialog").get_by_role("combobox")
        tags.fill("lesson")
        page.keyboard.press("Enter")
        expect(page.locator("[role=dialog]").get_by_text("lesson", exact=True)).to_be_visible()
        # What is open beside the button is hidden from assistive technology, so from roles.
        box = page.locator("[role=dialog] button", has_text="Save").bounding_box()
        assert box
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("combobox", name="Tags").click()
    page.get_by_role("option", name="lesson").click()
    said = "2 runs. Select a row, then Why above; several are drawn together."
    expect(page.get_by_text(said, exact=True)).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("combobox", name="Group by").click()
    page.get_by_role("option", name="Strategy").click()
    grouped = page.get_by_text("Strategy: mirrored")
    expect(grouped).to_be_visible()
    expect(page).to_have_url(re.compile(r"tags=lesson.*group=Strategy|group=Strategy.*tags=lesson"))
    page.goto(page.url)
    expect(page.get_by_text(said, exact=True)).to_be_visible()
    expect(grouped).to_be_visible()
    for name in names:
        shutil.rmtree(server.runs / name)


def test_the_filters_of_the_runs_have_their_place_before_they_are_there(visit: Visit) -> None:
    filters = visit("runs").locator(".st-key-runs_filter")
    reserved = filters.evaluate("row => parseFloat(getComputedStyle(row).minHeight)")
    filters.evaluate("row => { row.style.minHeight = 0 }")
    box = filters.bounding_box()
    assert box is not None
    assert box["height"] == reserved


def test_a_run_is_deleted_after_asking_back(visit: Visit, server: Server) -> None:
    unwanted = server.write_run("unwanted", steps=10, windows=0)
    page = visit("runs", run="unwanted")
    page.get_by_role("button", name="Delete …").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("unwanted")
    dialog.get_by_role("button", name="Delete it").click()
    expect(dialog).to_be_hidden()
    assert not unwanted.exists()
    assert (server.runs / "quick").exists()


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)], ids=["laptop", "phone"])
def test_cause_and_remedy_are_on_the_first_screen_of_why(
    visit: Visit, size: tuple[int, int]
) -> None:
    options = {"viewport": {"width": size[0], "height": size[1]}}
    page = visit("overview", run="late", options=options)
    cause = page.get_by_test_id("stMain").get_by_text("Replica 2 is late by")
    expect(cause).to_have_count(1)
    expect(cause).to_be_in_viewport(ratio=1)
    expect(page.get_by_text(re.compile("^Try: ")).first).to_be_in_viewport(ratio=1)


def test_on_a_phone_the_line_is_on_the_first_screen_of_why(visit: Visit, server: Server) -> None:
    example = unpack(EXAMPLES[1], server.runs)
    page = visit("overview", run=example.name, options=PHONE)
    line = page.locator(".lab-code .lit .share").first
    expect(line).to_be_in_viewport(ratio=1)
    remedy = page.get_by_text(re.compile("^Try: ")).first
    expect(remedy).to_be_in_viewport(ratio=1)
    numbers = page.get_by_text("Loop time per step").first
    tops = [each.bounding_box() for each in (line, remedy, numbers)]
    assert [box["y"] for box in tops if box] == sorted(box["y"] for box in tops if box)


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)], ids=["laptop", "phone"])
def test_the_line_of_a_failure_is_marked_on_the_first_screen_also_without_time(
    visit: Visit, server: Server, size: tuple[int, int]
) -> None:
    lines = [(14, "train_step(batch)"), (71, "loss = loss / num_batches")]
    recipe = {"gaps": (), "lines": lines, "is_of_lab": False, "ending": None}
    run = server.write_run("failed-at-a-line", steps=40, missing=("launcher",), **recipe)
    add_event(run, Failed("ZeroDivisionError: division by zero", "Traceback", place="train.py:71"))
    page = visit(
        "overview", run=run.name, options={"viewport": {"width": size[0], "height": size[1]}}
    )
    expect(page.locator(".lab-headline")).to_contain_text("at train.py:71")
    named = page.locator(".lab-code .named")
    expect(named.locator(".number")).to_have_text("71")
    expect(named).to_be_in_viewport(ratio=1)
    expect(page.get_by_text(re.compile("^Try: ")).first).to_be_in_viewport(ratio=1)


def test_no_note_of_a_number_is_cut(visit: Visit) -> None:
    page = visit("overview", run="late", options={"viewport": {"width": 1280, "height": 720}})
    notes = page.locator(".lab-tiles .note:visible")
    expect(notes.first).to_be_visible()
    assert notes.evaluate_all("all => all.every(each => each.scrollWidth <= each.clientWidth)")


OVERLAPS = """() => {
    const links = [...document.querySelectorAll(".st-key-page_row a")];
    const boxes = links.map(link => link.getBoundingClientRect());
    return boxes.filter((one, i) => boxes.some((other, j) => i < j && one.left < other.right &&
        other.left < one.right && one.top < other.bottom && other.top < one.bottom)).length;
}"""
"""How many links of a page's row lie on another one."""


@pytest.mark.parametrize("name", ["overview", "timeline"])
def test_the_links_of_a_row_that_wraps_lie_beside_each_other(visit: Visit, name: str) -> None:
    page = visit(name, run="late", options=PHONE)
    assert page.locator(".st-key-page_row a").count() == 6
    assert page.evaluate(OVERLAPS) == 0


def test_a_long_name_of_an_op_is_whole_on_a_phone(visit: Visit, server: Server) -> None:
    server.write_run("long-ops", steps=20, windows=1, prefix="a_model/" + "layer_of_a_model" * 3)
    page = visit("communication", run="long-ops", options=PHONE)
    names = page.locator(".lab-table td:visible", has_text="layer_of_a_model")
    expect(names.first).to_be_visible()
    assert names.evaluate_all("all => all.every(each => each.scrollWidth <= each.clientWidth)")


def test_a_phone_has_no_word_of_keys_on_buttons(visit: Visit) -> None:
    page = visit("lab", options=PHONE)
    expect(page.locator(".st-key-run_button button")).to_be_visible()
    expect(page.locator(".st-key-run_button kbd")).to_be_hidden()
