"""A step as a film in real Chromium: it plays, scrubs, steps, and plays from a file as well."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Locator, Page, expect

import strategy_profiles
from strategy_film.export import step_page
from strategy_profiles.exports import write
from strategy_profiles.tables.schema import CATEGORIES
from tests.conftest import MAX_WAIT_MS
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until
from tests.synthetic import HOSTILE, write_run

pytestmark = pytest.mark.browser
Open = Callable[..., Page]
CAPTURED = Path(__file__).parents[2] / "data" / "captured_step"


@pytest.fixture(scope="module")
def filmed(server: Server) -> Server:
    server.write_run("filmed", steps=60, windows=2, straggler=(2, 30.0))
    server.write_run("unfilmed", steps=10, windows=0)
    server.write_run("many", steps=40, windows=1, replicas=16, straggler=(5, 30.0))
    return server


def test_a_film_of_many_replicas_is_in_sight_with_its_legend(
    open_page: Open, filmed: Server
) -> None:
    projector = {"width": 1280, "height": 720}
    page = open_page(filmed.address("film", run="many"), viewport=projector)
    film = page.frame_locator("iframe")
    expect(film.locator(".caption")).to_contain_text("Replica 5 is")
    for part in (film.locator(".caption"), film.get_by_role("slider"), film.locator(".legend")):
        expect(part).to_be_in_viewport(ratio=1)


def time_of(film: Locator) -> int:
    return int(film.get_attribute("data-time") or -1)


def test_the_page_plays_a_step_and_opens_another(open_page: Open, filmed: Server) -> None:
    projector = {"width": 1280, "height": 720}
    page = open_page(filmed.address("film", run="filmed"), viewport=projector)
    frame: FrameLocator = page.frame_locator("iframe")
    film = frame.locator("#film")
    expect(frame.locator(".caption")).to_contain_text(re.compile(r"Replica 2 is [\d.]+ ms late"))
    expect(frame.locator(".caption")).to_contain_text("replicas 0, 1 and 3 wait in the all-reduce")
    for part in (
        frame.locator(".stage"),
        frame.get_by_role("button", name="Play"),
        frame.get_by_role("slider"),
    ):
        expect(part).to_be_in_viewport(ratio=0.99)
    box = page.locator("iframe").bounding_box()
    assert box
    assert frame.locator("html").evaluate("node => node.scrollHeight") <= box["height"] + 1
    colours = frame.get_by_role("list", name="Colours").get_by_role("listitem").all_inner_texts()
    assert colours == [*(name for name in CATEGORIES if name in colours), "critical path"]
    frame.get_by_role("button", name="Play").click()
    expect(film).to_have_attribute("data-playing", "true")
    wait_until(page, lambda: time_of(film) > 0, "the film does not play")
    step = frame.locator("h1").inner_text()
    page.get_by_role("combobox", name="Captured step").click()
    page.get_by_role("option").last.click()
    expect(frame.locator("h1")).not_to_have_text(step)
    expect(page).to_have_url(re.compile("step="))


ORANGE_AT_EDGES = """canvas => {
    const { width, height } = canvas;
    const orange = (...box) => {
        const { data } = canvas.getContext("2d").getImageData(...box);
        return data.some((red, at) => at % 4 === 0 && red - data[at + 2] > 60);
    };
    return orange(0, 0, width, 1) || orange(0, 0, 1, height) || orange(width - 1, 0, 1, height);
}"""


def test_the_glow_of_waiting_replicas_is_not_cut_off(open_page: Open, server: Server) -> None:
    server.write_run("film-of-16", steps=30, windows=1, replicas=16, straggler=(5, 30.0))
    page = open_page(
        server.address("film", run="film-of-16"), viewport={"width": 1280, "height": 720}
    )
    frame = page.frame_locator("iframe")
    expect(frame.locator(".caption")).to_contain_text("15 replicas wait in the all-reduce")
    wait_until(
        page,
        lambda: not frame.locator("canvas.stage").evaluate(ORANGE_AT_EDGES),
        "the glow goes on beyond the picture",
    )


def test_the_film_changes_its_colours_with_the_page_and_stays_where_it_was(
    open_page: Open, filmed: Server
) -> None:
    page = open_page(filmed.address("film", run="filmed"), color_scheme="light")
    frame = page.frame_locator("iframe")
    body, film = frame.locator("body"), frame.locator("#film")
    expect(body).to_have_css("background-color", "rgb(255, 255, 255)")
    film.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    before = time_of(film)
    pixels = "canvas => canvas.toDataURL()"
    light = frame.locator("canvas.track").evaluate(pixels)
    page.emulate_media(color_scheme="dark")
    expect(body).to_have_css("background-color", "rgb(16, 21, 28)")
    wait_until(
        page,
        lambda: frame.locator("canvas.track").evaluate(pixels) != light,
        "the scrubber is drawn in the colours of before",
    )
    assert time_of(film) == before


NOTE_TEXTS = """
const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
let texts = [];
CanvasRenderingContext2D.prototype.clearRect = function (...box) {
  texts = texts.filter(({ canvas }) => canvas !== this.canvas);
  clearRect.apply(this, box);
};
CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
  const { width } = this.measureText(text);
  const left = x - { left: 0, center: width / 2, right: width }[this.textAlign];
  const half = parseFloat(this.font.match(/([\\d.]+)px/)[1]) * 0.4;
  const box = { left, right: left + width + 5, top: y - half, bottom: y + half };
  texts.push({ canvas: this.canvas, text, ...box });
  fillText.call(this, text, x, y);
};
const meet = (a, b) => a.canvas === b.canvas && a.left < b.right && b.left < a.right
  && a.top < b.bottom && b.top < a.bottom;
window.below = () => texts.filter(({ canvas, bottom }) => bottom > canvas.clientHeight)
  .map(({ text }) => text);
window.shown = () => texts.map(({ text }) => text);
window.overlaps = () => texts.flatMap((a, at) => texts.slice(at + 1)
  .filter((b) => meet(a, b)).map((b) => `${a.text} / ${b.text}`));
"""
"""`overlaps()` names the pairs of texts of a canvas that touch or lie over each other, `below()`
those that the lower edge of a canvas cuts, `shown()` all."""


def test_the_name_of_an_op_ends_before_what_is_said_of_the_collective(
    browser: Browser, tmp_path: Path
) -> None:
    film = tmp_path / "film.html"
    film.write_text(step_page(strategy_profiles.load(CAPTURED)))
    page = browser.new_page(viewport={"width": 1280, "height": 665}, reduced_motion="reduce")
    page.add_init_script(NOTE_TEXTS)
    page.goto(film.as_uri())
    expect(page.locator(".caption")).to_contain_text("wait in the all-reduce")
    assert page.evaluate("overlaps()") == []
    page.close()


def test_long_names_of_devices_keep_their_numbers_and_no_text_is_cut_off(
    browser: Browser, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", steps=30, windows=1, replicas=4, workers=2)
    film = write(strategy_profiles.load(run), "film", tmp_path / "film.html")
    html = film.read_text()
    assert '"worker 1 CPU:0"' in html
    for worker in (0, 1):
        name = f'"machine-{worker}.a-zone.a-region.example CPU:'
        html = html.replace(f'"worker {worker} CPU:', name)
    film.write_text(html)
    page = browser.new_page(viewport={"width": 1280, "height": 520}, reduced_motion="reduce")
    page.add_init_script(NOTE_TEXTS)
    page.goto(film.as_uri())
    expect(page.locator(".caption")).not_to_be_empty()
    in_film = page.evaluate("shown()")
    names = [text for text in in_film if ".example" in text]
    assert [name[-6:] for name in names] == [" CPU:0", " CPU:1"] * 2
    assert all(name.startswith("…") for name in names)
    assert page.evaluate("below()") == []
    page.close()


def test_a_run_without_captured_steps_says_what_to_do(open_page: Open, filmed: Server) -> None:
    page = open_page(filmed.address("film", run="unfilmed"))
    expect(page.get_by_text("Turn on “Capture every step in full”")).to_be_visible()


@pytest.mark.parametrize("options", [{"replicas": 2}, {"straggler": (2, 30.0), "prefix": HOSTILE}])
def test_the_exported_file_plays_alone(
    browser: Browser, tmp_path: Path, options: dict[str, object]
) -> None:
    run = write_run(tmp_path / "run", steps=30, windows=1, **options)
    path = write(strategy_profiles.load(run), "film", tmp_path / "step.html")
    page = browser.new_page(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    page.set_default_timeout(MAX_WAIT_MS)
    console_errors: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: console_errors.append(message.text))
    page.on("pageerror", lambda error: console_errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    film, track = page.locator("#film"), page.get_by_role("slider")
    expect(film).to_have_attribute("data-playing", "false")

    page.keyboard.press("Home")
    assert time_of(film) == 0
    page.keyboard.press("ArrowRight")
    first = time_of(film)
    page.keyboard.press("ArrowRight")
    assert time_of(film) > first > 0
    page.keyboard.press("ArrowLeft")
    assert time_of(film) == first

    page.get_by_role("button", name="1/1,000").click()
    page.keyboard.press(" ")
    expect(film).to_have_attribute("data-playing", "true")
    wait_until(page, lambda: time_of(film) > first, "the film does not play")
    page.keyboard.press(" ")
    expect(film).to_have_attribute("data-playing", "false")

    box = track.bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 8)
    middle = float(track.get_attribute("aria-valuemax") or 0) / 2
    assert float(track.get_attribute("aria-valuenow") or 0) == pytest.approx(middle, rel=0.1)
    page.keyboard.press("End")
    expect(page.locator(".caption")).not_to_be_empty()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert console_errors == []
    assert requests == [path.as_uri()]
    page.close()
