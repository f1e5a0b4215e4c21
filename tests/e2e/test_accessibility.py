"""Every page is usable without a mouse and by assistive technology: axe-core finds nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from strategy_profiles.examples import EXAMPLES, unpack
from tests import lab_access
from tests.e2e.axe import expect_no_findings
from tests.e2e.conftest import Server, served
from tests.e2e.drawn import go, wait_until, wait_until_drawn
from tests.growing_run import begin_run, end_run
from tests.plugins.leaves import from_doors
from tests.profiles.served_run import write_served_run

pytestmark = pytest.mark.browser
Visit = Callable[..., Page]
Scheme = Literal["light", "dark"]
PHONE: ViewportSize = {"width": 390, "height": 844}
CAPTURED = Path(__file__).parents[1] / "data" / "captured_step"
OF_ANY = ("overview", "timeline", "communication", "placement")
PAGES: dict[str, list[tuple[str, dict[str, str]]]] = {
    "no run": [
        ("", {}),
        ("compare", {"a": "axe-a", "b": "axe-b"}),
        ("runs", {}),  # between two pages of one title, by which the next one is known
        ("compare", {"a": "axe-a", "b": "axe-b", "each": "axe-cores"}),
    ],
    "a run": [
        ("", {"run": "axe-a"}),
        *((name, {"run": "axe-a"}) for name in OF_ANY if name != "placement"),
    ],
    "a running run, a captured step, and cores": [
        ("overview", {"run": "axe-running"}),
        ("placement", {"run": "axe-captured"}),
        ("", {"run": "axe-changed"}),
    ],
    "a run that failed before any step was captured": [
        (name, {"run": "axe-failed"}) for name in ("", *OF_ANY)
    ],
    "a traced program, an imported profile and servers": [
        ("overview", {"run": "example-slow-input"}),
        ("", {"run": "example-slow-input"}),
        *((name, {"run": "example-gpu"}) for name in ("", *OF_ANY)),
        *((name, {"run": "axe-servers"}) for name in ("overview", "placement")),
        ("help", {}),
    ],
    "a run of 16 replicas": [(name, {"run": "axe-wide"}) for name in ("", *OF_ANY)],
}
for pages in from_doors("PAGES"):
    for about, more in pages.items():
        PAGES[about] += more
"""Pages, by what they are about. Each but the first of a list is reached without a load."""
SELF_CONTAINED = (
    *(address for addresses in from_doors("SELF_CONTAINED") for address in addresses),
)


@pytest.fixture(scope="module")
def runs(server: Server) -> Iterator[Server]:
    server.write_run("axe-a", steps=60, windows=1, straggler=(2, 30.0))
    server.write_run("axe-b", steps=60, windows=1, seed=4)
    server.write_run("axe-failed", steps=60, windows=0, ending="failed")
    server.write_run("axe-wide", steps=60, windows=1, replicas=16, straggler=(5, 30.0))
    server.write_run("axe-cores", steps=60, strategy="tpu", replicas=2, cores_per_replica=3)
    # What happened is longer than its place.
    server.write_run("axe-changed", steps=240, segments=[{}, {"replicas": 2}] * 8)
    shutil.copytree(CAPTURED, server.runs / "axe-captured")
    write_served_run(server.runs / "axe-servers")
    for example in EXAMPLES[1:]:
        unpack(example, server.runs)
    for make in from_doors("make_pages"):
        make(server.runs)
    running = begin_run(server.runs / "axe-running", steps=60)
    yield server
    end_run(running)


@pytest.fixture
def visit(open_page: Callable[..., Page], runs: Server) -> Visit:
    def opened(name: str, query: dict[str, str], **options: Any) -> Page:
        page = open_page(runs.address(name, **query), **options)
        wait_until_drawn(page)
        return page

    return opened


WIDEST: ViewportSize = {"width": 1600, "height": 1000}
PROJECTOR: ViewportSize = {"width": 1280, "height": 720}
SIZES = (WIDEST, PROJECTOR, PHONE)
LISTS_ON_A_PHONE = ("placement", "communication", "runs")
"""Pages whose tables are lists there."""
FITS = """width =>
    [document.documentElement, ...document.querySelectorAll("[data-testid=stMain]")]
        .every(part => part.scrollWidth <= width)"""
HAS_GROUND = """colour => {
    const app = document.querySelector(".stApp");
    return app && getComputedStyle(app).backgroundColor === colour;
}"""
GROUNDS: dict[Scheme, str] = {"dark": "rgb(16, 21, 28)", "light": "rgb(255, 255, 255)"}
BEGINNINGS = ".lab-headline, h2, h3, p, iframe, .live"
SCHEMES: tuple[Scheme, ...] = ("dark", "light")


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("about", PAGES)
def test_axe_finds_nothing_and_the_page_fits_in_every_window(
    visit: Visit, runs: Server, about: str
) -> None:
    schemes, sizes = SCHEMES, SIZES
    page = visit(*PAGES[about][0], viewport=sizes[0], color_scheme=schemes[0], bypass_csp=True)
    for number, (name, query) in enumerate(PAGES[about]):
        if number:
            go(page, runs.address(name, **query))
        where = f"{name or 'lab'} of {query}"
        for size in sizes:
            page.set_viewport_size(size)
            expect_it_fits(page, size, where)
            if size == WIDEST:
                for scheme in schemes:
                    become(page, scheme)
                    expect_no_findings(page, scheme)
            elif size == PHONE and name in LISTS_ON_A_PHONE:
                become(page, "light")
                expect_no_findings(page, "light")
        # The next page begins with this one's last: charts are drawn fewer times.
        schemes, sizes = schemes[::-1], sizes[::-1]


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("opens", ["Copy as …", "Columns", "Tags …", "Rename …", "Delete …"])
def test_axe_finds_nothing_in_what_a_button_opens(visit: Visit, opens: str) -> None:
    page = visit("runs", {"run": "axe-a"}, viewport=PROJECTOR, bypass_csp=True)
    become(page, "light")
    page.get_by_role("button", name=opens, exact=True).click()
    expect(page.get_by_test_id("stPopoverBody").or_(page.get_by_role("dialog"))).to_be_visible()
    wait_until_drawn(page)
    expect_no_findings(page, "light")


def expect_it_fits(page: Page, size: ViewportSize, where: str) -> None:
    """Nothing scrolls to the side, and the page begins in sight."""
    width = size["width"]
    # Charts follow a new width a moment later.
    fits = partial(page.evaluate, FITS, width)
    wait_until(page, fits, f"{where} is wider than {width} px")
    begins = page.get_by_test_id("stMain").locator(BEGINNINGS).locator("visible=true")
    expect(begins.first, f"{where}, at {width} px").to_be_in_viewport()


def become(page: Page, scheme: Scheme) -> None:
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(HAS_GROUND, arg=GROUNDS[scheme])
    for frame in page.frames[1:]:
        frame.wait_for_function(
            "scheme => document.documentElement.dataset.theme === scheme", arg=scheme
        )
    wait_until_drawn(page)


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("path", SELF_CONTAINED)
def test_axe_finds_nothing_in_a_page_to_keep(open_page: Visit, runs: Server, path: str) -> None:
    page = open_page(runs.address(path), color_scheme=SCHEMES[0], bypass_csp=True)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        expect_no_findings(page, scheme)


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("path", SELF_CONTAINED)
def test_a_page_to_keep_brings_the_typeface_of_the_lab(
    open_page: Visit, runs: Server, path: str
) -> None:
    page = open_page(runs.address(path))
    used = page.evaluate("getComputedStyle(document.body).fontFamily")
    assert used.startswith('"Lab Sans"')
    loaded = "async () => (await document.fonts.load('1rem \"Lab Sans\"')).map(face => face.status)"
    assert page.evaluate(loaded) == ["loaded"]


def test_axe_finds_nothing_in_the_page_that_asks_for_the_token(
    browser: Browser, runs: Server
) -> None:
    """Not through `open_page`: its pages have the token, and none may be refused."""
    context = browser.new_context(bypass_csp=True)
    try:
        page = context.new_page()
        page.goto(runs.address())
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            expect(page.get_by_role("heading", level=1)).to_have_text("Strategy Lab: token needed")
            expect_no_findings(page, scheme)
    finally:
        context.close()


DROPZONE = "presentation-role-conflict: section"
"""What axe finds in Streamlit's field for files: a role that the lab cannot set."""


@pytest.mark.long
def test_axe_finds_nothing_in_pages_without_any_run(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as lab:
        context = browser.new_context(viewport=WIDEST, bypass_csp=True)
        try:
            page = context.new_page()
            page.goto(lab_access.with_token(lab.address("runs")))
            names = ("runs", "overview", *chain(*from_doors("RUN_PAGES")), "compare")
            for number, name in enumerate(names):
                if number:
                    go(page, lab.address(name))
                wait_until_drawn(page)
                for scheme in SCHEMES:
                    become(page, scheme)
                    expect_no_findings(page, scheme, but=DROPZONE)
        finally:
            context.close()


def test_a_deep_link_asks_for_nothing_that_is_not_there(open_page: Visit, runs: Server) -> None:
    page = open_page("about:blank")
    refused = []
    page.on("response", lambda found: refused.append(found.url) if found.status >= 400 else None)
    page.goto(runs.address("overview", run="axe-a"))
    wait_until_drawn(page)
    assert refused == []


def test_the_focus_is_visible_on_a_widget_of_streamlit(visit: Visit) -> None:
    page = visit("", {})
    page.get_by_role("link", name="All runs").focus()
    outline = "() => getComputedStyle(document.activeElement).outline"
    assert "3px" in page.evaluate(outline)


def test_the_focus_is_visible_on_the_frame_of_a_field(visit: Visit) -> None:
    """The frame would cut the outline of the input itself off."""
    page = visit("communication", {"run": "axe-a"})
    for field in (page.get_by_label("Search by tensor"), page.get_by_role("combobox").first):
        field.focus()
        outlines = "field => [field.parentElement, field].map(e => getComputedStyle(e).outline)"
        frame, own = field.evaluate(outlines)
        assert "3px" in frame
        assert "none" in own


def test_the_live_charts_list_their_keys(visit: Visit) -> None:
    page = visit("", {"run": "axe-a"})
    page.get_by_role("button", name="? keys").click()
    dialog = page.get_by_role("dialog", name="Keys of the charts")
    expect(dialog).to_contain_text("move the cursor by a step")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_the_buttons_of_a_chart_are_one_stop_of_the_tab_key(visit: Visit) -> None:
    page = visit("overview", {"run": "axe-a"})
    toolbar = page.locator(".modebar").first
    buttons = toolbar.locator(".modebar-btn")
    num_buttons = buttons.count()
    assert num_buttons > 4
    buttons.first.focus()
    page.keyboard.press("ArrowRight")
    expect(buttons.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(buttons.nth(num_buttons - 1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(buttons.first).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(buttons.nth(num_buttons - 1)).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    expect(toolbar.locator(":focus")).to_have_count(0)
    page.keyboard.press("Shift+Tab")
    expect(buttons.first).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(toolbar.locator(":focus")).to_have_count(0)


BY_KEYBOARD = [*PAGES["no run"], *PAGES["a run"], ("help", {})]
MOST_STOPS = 400
COLLECT = """() => {
    const wanted = "a[href], button, input, select, textarea, summary, [tabindex]";
    const isShown = each => each.tabIndex >= 0 && !each.disabled
        && each.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})
        && each.getBoundingClientRect().width > 1;
    window.stops = [];
    window.reached = new Set();
    window.named = each => each.tagName + " "
        + (each.getAttribute("aria-label") || each.textContent.trim().slice(0, 50));
    const collect = root => {
        for (const each of root.querySelectorAll("*")) {
            if (each.matches(wanted) && isShown(each)) window.stops.push(each);
            if (each.shadowRoot) collect(each.shadowRoot);
        }
    };
    collect(document);
    document.activeElement.blur();
}"""
GO_ON = """() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    if (!at || at === document.body) return "out";
    window.reached.add(at);
    if (at.tagName === "IFRAME") return "frame";
    const near = [at, at.parentElement, at.nextElementSibling, at.firstElementChild];
    const isMarked = near.filter(Boolean).map(each => getComputedStyle(each)).some(style =>
        style.outlineStyle !== "none" && parseFloat(style.outlineWidth)
        || style.boxShadow !== "none");
    const box = at.getBoundingClientRect();
    const isInSight = box.bottom > 0 && box.top < innerHeight;
    return isMarked && isInSight ? "" : window.named(at);
}"""
MISSED = """() => window.stops
    .filter(each => each.isConnected && !window.reached.has(each))
    .filter(each => !each.closest("[role=radiogroup], [data-testid=stButtonGroup]"))
    .map(window.named)"""
"""A group of buttons of which one is chosen is one stop: arrows go on in it."""


@pytest.mark.long(keep=3)
@pytest.mark.parametrize(
    ("name", "query"), BY_KEYBOARD, ids=[name or "lab" for name, _ in BY_KEYBOARD]
)
def test_tab_reaches_all_of_a_page_and_shows_where_it_is(
    visit: Visit, name: str, query: dict[str, str]
) -> None:
    page = visit(name, query, viewport=PROJECTOR)
    page.evaluate(COLLECT)
    unmarked, at = [], ""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        at = page.evaluate(GO_ON)
        if at in ("out", "frame"):  # what is in a frame is another document
            break
        unmarked += [at] if at else []
    assert at in ("out", "frame"), f"Tab does not leave {name} after {MOST_STOPS} stops"
    assert unmarked == []
    if at == "out":
        assert page.evaluate(MISSED) == []
