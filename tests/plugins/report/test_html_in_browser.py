"""The report in real Chromium: it draws, it listens, and it executes nothing of the run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

import strategy_profiles
from strategy_profiles.exports import write
from tests.conftest import MAX_WAIT_MS
from tests.e2e.drawn import wait_for_a_frame
from tests.synthetic import write_run
from tests.timeouts import wait_until

pytestmark = pytest.mark.browser
ATTACKS = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "<img src=x onerror=window.hacked=3>",
    "\"'><svg onload=window.hacked=4>",
    "<!--<script>\u2028window.hacked=5//\u2029",
    "javascript:window.hacked=6",
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    run = write_run(folder / "run", replicas=4, steps=120, straggler=(2, 30.0))
    return write(strategy_profiles.load(run), "html", folder / "report.html")


@pytest.fixture
def opened_page(browser, path: Path) -> Iterator[SimpleNamespace]:
    yield from _open(browser, path)


def _open(browser, path: Path, **options: object) -> Iterator[SimpleNamespace]:
    """A page with what it complained of, and what it asked the network for."""
    page = browser.new_page(**{"viewport": {"width": 1200, "height": 900}, **options})
    seen = SimpleNamespace(page=page, console_errors=[], requests=[])
    page.set_default_timeout(MAX_WAIT_MS)
    page.on("console", lambda message: seen.console_errors.append(message.text))
    page.on("pageerror", lambda error: seen.console_errors.append(str(error)))
    page.on("request", lambda request: seen.requests.append(request.url))
    page.goto(path.as_uri())
    expect(page.locator(".uplot canvas").first).to_be_attached()
    yield seen
    page.close()


def test_the_report_draws_every_chart_and_requests_nothing(
    opened_page: SimpleNamespace, path: Path
) -> None:
    expect(opened_page.page.locator(".uplot canvas")).to_have_count(6)
    wait_for_a_frame(opened_page.page)
    assert _num_colours(opened_page.page, "#timeline-view canvas") > 4
    assert opened_page.console_errors == []
    assert opened_page.requests == [path.as_uri()]


def test_no_name_of_the_run_is_executed(browser, tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run", replicas=2, steps=30, prefix="".join(ATTACKS), ending="failed"
    )
    report = write(strategy_profiles.load(run), "html", tmp_path / "report.html")
    for seen in _open(browser, report):
        page = seen.page
        for summary in page.locator("summary").all():
            summary.click()
        _hover(page, 0.5)
        expect(page.locator(".tip")).to_contain_text("window.hacked")
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, iframe, svg[onload]").count() == 0
        assert seen.console_errors == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_dark_is_the_readers_choice(browser, path: Path) -> None:
    for seen in _open(browser, path, color_scheme="dark"):
        body = seen.page.locator("body")
        expect(body).to_have_css("background-color", "rgb(20, 23, 27)")
        seen.page.get_by_role("button", name="Light / dark").click()
        expect(body).to_have_css("background-color", "rgb(255, 255, 255)")


def test_tables_sort_and_copy(opened_page: SimpleNamespace) -> None:
    page = opened_page.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    table = page.locator("#replicas table").first
    table.get_by_role("button", name="compute").click()
    expect(table.locator("tbody tr").first).to_have_text(re.compile(r"^\s*replica 2, CPU:2"))
    expect(table.locator("th[aria-sort=descending]")).to_have_text(re.compile(r"^\s*compute"))
    page.locator("#replicas .copy").first.click()
    page.get_by_text("Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[0].split("\t")[:2] == ["Replica", "compute"]
    assert copied.splitlines()[1].split("\t")[0] == "replica 2, CPU:2"


def test_the_timeline_goes_by_keys(opened_page: SimpleNamespace) -> None:
    page = opened_page.page
    page.locator("#timeline-view canvas").focus()
    wait_for_a_frame(page)
    before = _pixels(page)
    said = page.locator("#timeline-said")
    page.keyboard.press("PageDown")
    expect(said).to_have_text(re.compile(r"^step \d+$"))
    page.keyboard.press("n")
    expect(said).to_have_text(re.compile(r" ms, from .*replica 0"))
    page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("replica 1")
    wait_for_a_frame(page)
    assert _pixels(page) != before


def test_hovering_a_wait_names_its_collective(opened_page: SimpleNamespace) -> None:
    """Replica 0 waits for the straggler during most of a step."""
    page = opened_page.page
    page.locator("#timeline-view canvas").focus()
    page.keyboard.press("PageDown")
    _hover(page, 0.6)
    tip = page.locator(".tip")
    expect(tip).to_have_text(re.compile(r"^CollectiveReduceV2\b.*wait · (29|30)\.", re.DOTALL))


NOTE_TEXTS = """() => {
    const draw = CanvasRenderingContext2D.prototype.fillText;
    window.texts = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
        window.texts.push(text);
        return draw.call(this, text, ...where);
    };
}"""


def test_the_timeline_calls_a_wait_by_its_name_and_not_its_op(opened_page: SimpleNamespace) -> None:
    page = opened_page.page
    page.evaluate(NOTE_TEXTS)
    page.locator("#timeline-view canvas").focus()
    page.keyboard.press("PageDown")
    # Not `wait_for_function`, which the report's policy forbids to evaluate a text more than once.
    wait_until(lambda: page.evaluate("window.texts.includes('wait')"))
    wait_for_a_frame(page)
    assert [text for text in page.evaluate("window.texts") if text.startswith("Coll")] == []


WIDE_TABLES = """[...document.querySelectorAll('.scroll')]
    .filter(box => box.scrollWidth > box.clientWidth + 1 && !box.querySelector('td.heat'))
    .map(box => box.querySelector('caption').textContent.trim())"""


def test_the_report_fits_a_phone(browser, path: Path) -> None:
    for seen in _open(browser, path, viewport={"width": 360, "height": 700}):
        assert seen.page.evaluate("document.documentElement.scrollWidth") == 360
        # Tables do not scroll to the side, either, but matrices do.
        assert seen.page.locator("table.data").count() > 3
        assert seen.page.evaluate(WIDE_TABLES) == []


def test_a_projector_sees_every_column(browser, path: Path) -> None:
    for seen in _open(browser, path, viewport={"width": 1280, "height": 720}):
        assert seen.page.evaluate(WIDE_TABLES) == []


def test_the_report_prints_light_whatever_the_screen(browser, path: Path) -> None:
    for seen in _open(browser, path, color_scheme="dark"):
        pdf = seen.page.pdf(print_background=True)
        assert pdf.startswith(b"%PDF")
        assert len(pdf) > 50_000
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert seen.page.evaluate("document.documentElement.dataset.theme") == "light"
        seen.page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert seen.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_without_scripts_the_numbers_are_there(browser, path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.locator("h1")).to_contain_text("late by")
    expect(page.locator("#replicas table").first.locator("tbody tr")).to_have_count(4)
    context.close()


def _hover(page, share: float) -> None:
    """Put the mouse on the first replica's row, at a share of the time that is shown."""
    canvas = page.locator("#timeline-view canvas")
    canvas.scroll_into_view_if_needed()
    width = canvas.bounding_box()["width"]
    canvas.hover(position={"x": 150 + (width - 150) * share, "y": 34})


def _pixels(page) -> str:
    return page.evaluate("document.querySelector('#timeline-view canvas').toDataURL()")


def _num_colours(page, selector: str) -> int:
    return page.evaluate(
        """selector => {
          const canvas = document.querySelector(selector);
          const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          return new Set(new Uint32Array(data.buffer)).size;
        }""",
        selector,
    )
