"""A lecture in Chromium: the projector's page and phones, from the question to the next scene."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import MAX_WAIT_MS
from tests.e2e.axe import FINDINGS
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until_drawn

pytestmark = pytest.mark.browser
Open = Callable[..., Page]
PROJECTOR = {"width": 1280, "height": 720}
PHONE = {"width": 390, "height": 844}
NUM_PHONES = 50
ANSWERED_WITHIN_S = 1.0


@pytest.fixture
def lecture(open_page: Open, server: Server) -> Iterator[Page]:
    """The projector's page with an open room, at the first question."""
    page = open_page(server.address("lecture"), viewport=PROJECTOR)
    wait_until_drawn(page)
    state = page.request.get(server.address("api/lecture")).json()
    while state["scene"] or state["is_revealed"]:
        state = page.request.post(server.address("api/lecture/back")).json()
    expect(page.get_by_text("1/11", exact=True)).to_be_visible()
    expect(page.locator(".why")).to_have_count(0)
    page.keyboard.press("o")
    expect(page.locator(".link")).to_be_visible()
    expect(page.get_by_role("img", name="QR code of the link in the header")).to_be_visible()
    yield page
    page.get_by_role("button", name="Close the room").click()
    expect(page.locator(".link")).to_have_count(0)


@pytest.fixture
def phone(browser: Browser, lecture: Page) -> Iterator[Open]:
    """Open the room's link in a browser of its own, which knows nothing of the lab."""
    contexts = []

    def opened(link: str = "", **options: object) -> Page:
        context = browser.new_context(viewport=PHONE, **options)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(MAX_WAIT_MS)
        page.goto(link or link_of(lecture))
        return page

    yield opened
    for context in contexts:
        context.close()


def link_of(lecture: Page) -> str:
    return f"http://{lecture.locator('.link').inner_text()}"


def command(page: Page, name: str) -> None:
    """Press a button of the projector's page, and wait until it has done its work."""
    with page.expect_response(re.compile(f"/api/lecture/{name}$")):
        page.locator(f"[data-command={name}]").click()


def counts(page: Page) -> list[str]:
    return page.locator(".choices .num").all_inner_texts()


def test_phones_answer_and_see_whether_it_was_right(lecture: Page, phone: Open) -> None:
    first, second = phone(), phone()
    question = lecture.locator("h1").inner_text()
    for each in (first, second):
        expect(each.locator("h1")).to_have_text(question)
        expect(each.get_by_text("Question 1 of 11")).to_be_visible()
        assert each.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    first.locator("[data-choice='1']").click()
    expect(lecture.get_by_text("1 answer ·")).to_be_visible()
    second.locator("[data-choice='1']").click()
    expect(lecture.get_by_text("2 answers ·")).to_be_visible()
    second.locator("[data-choice='3']").click()
    expect(second.get_by_text("You chose D")).to_be_visible()
    expect(lecture.locator(".choices .num")).to_have_text(["0", "1", "0", "1"])

    lecture.keyboard.press("ArrowRight")
    expect(lecture.locator(".choices .right")).to_contain_text("cross-replica context")
    expect(lecture.locator(".why")).to_be_in_viewport(ratio=0.99)
    evidence = lecture.locator(".evidence").inner_text()
    expect(first.get_by_text("Right.", exact=True)).to_be_visible()
    expect(second.get_by_text("Wrong: it is B.")).to_be_visible()
    for each in (first, second):
        expect(each.locator(".evidence")).to_have_text(evidence)
        expect(each.locator("[data-choice='0']")).to_be_disabled()

    lecture.keyboard.press("p")
    lecture_frame = lecture.frame_locator("iframe")
    expect(lecture_frame.get_by_text("reduce is called in cross-replica context")).to_be_visible()
    frame = lecture.locator("iframe").element_handle()
    assert frame
    with lecture.expect_response(re.compile("/api/lecture[?]seen=")):
        pass  # a poll without news leaves the frame where it is
    assert frame.evaluate("node => node.isConnected")
    lecture.keyboard.press("Escape")
    lecture.keyboard.press("ArrowRight")
    expect(lecture.get_by_text("2/11", exact=True)).to_be_visible()
    expect(first.get_by_text("Question 2 of 11")).to_be_visible()
    expect(first.get_by_text("Tap your answer.")).to_be_visible()
    assert counts(lecture) == ["0", "0", "0"]


def test_a_stranger_with_a_wrong_code_sees_no_question(lecture: Page, phone: Open) -> None:
    right = link_of(lecture)
    stranger = phone(f"{right.rpartition('/')[0]}/XXXXXX")
    expect(stranger.get_by_text("No lecture has this address")).to_be_visible()
    assert lecture.locator("h1").inner_text() not in stranger.content()


def test_the_code_opens_nothing_of_the_lab(server: Server, lecture: Page, phone: Open) -> None:
    code = link_of(lecture).rpartition("/")[2]
    page = phone()
    page.goto(f"{server.url}/lecture?token={code}")
    expect(page.get_by_role("heading", name="Strategy Lab: token needed")).to_be_visible()
    assert page.request.get(f"{server.url}/api/lecture").status == 401


def test_a_phone_says_that_the_lecture_is_over(lecture: Page, phone: Open) -> None:
    page = phone()
    expect(page.get_by_text("Tap your answer.")).to_be_visible()
    command(lecture, "close")
    expect(page.get_by_text("The lecture is over, or this is not its address.")).to_be_visible()
    lecture.keyboard.press("o")
    expect(lecture.locator(".link")).to_be_visible()


HAS_WHOLE_LINES = """panel => {
    const height = parseFloat(getComputedStyle(panel.querySelector("pre")).lineHeight);
    const isWhole = (px) => Math.abs(px / height - Math.round(px / height)) < 0.05;
    return isWhole(panel.clientHeight) && isWhole(panel.scrollTop);
}"""
"""Whether neither the first nor the last line of code that is seen is cut."""
SMALL_TEXTS = """body => {
    const texts = [...body.querySelectorAll("*")].filter((part) => part.checkVisibility()
        && [...part.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()));
    return texts.filter((part) => parseFloat(getComputedStyle(part).fontSize) < 32
            && !part.closest("button, footer"))
        .map((part) => part.textContent.trim());
}"""
"""Texts for the room that are smaller than 24 pt; buttons are for the lecturer."""


DRAWN = """body => new Promise((done) => {
    const own = CanvasRenderingContext2D.prototype, fill = own.fillText, drawn = [];
    own.fillText = function (text, ...place) {
        const size = parseFloat(this.font.match(/[\\d.]+px/)[0]);
        drawn.push([text, size]);
        return fill.call(this, text, ...place);
    };
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    requestAnimationFrame(() => requestAnimationFrame(() => { own.fillText = fill; done(drawn); }));
})"""
"""What a film writes at its next event, in picture and scrubber, each text with its size in px."""


def test_the_devices_of_a_film_are_named_legibly_and_whole(lecture: Page) -> None:
    for _ in range(19):
        command(lecture, "forward")
    lecture.locator("[data-command=picture]").click()
    film = lecture.frame_locator("iframe")
    expect(film.locator(".legend")).to_be_visible()
    drawn: list[tuple[str, float]] = []
    for _ in range(12):
        drawn += film.locator("body").evaluate(DRAWN)
    assert {"CPU:0", "CPU:3"} <= {text for text, _ in drawn}
    assert [(text, size) for text, size in drawn if size < 32] == []
    assert [text for text, _ in drawn if text.startswith("waits") and "…" in text] == []
    lecture.keyboard.press("Escape")


@pytest.mark.parametrize(("number", "part"), [(1, ".lane"), (10, ".legend")])
def test_a_recording_is_legible_from_afar_and_its_keys_lead_back_to_the_question(
    lecture: Page, number: int, part: str
) -> None:
    """The contexts of a program, and the step of a run as a film."""
    for at in range(1, number):
        expect(lecture.get_by_text(f"{at}/11", exact=True)).to_be_visible()
        command(lecture, "forward")
        expect(lecture.locator(".why")).to_be_visible()
        command(lecture, "forward")
    expect(lecture.get_by_text(f"{number}/11", exact=True)).to_be_visible()
    command(lecture, "forward")
    for key in ("Escape", "p"):
        lecture.locator("[data-command=picture]").click()
        lecture_frame = lecture.frame_locator("iframe")
        expect(lecture_frame.locator(part).first).to_be_visible()
        assert lecture_frame.locator("body").evaluate(SMALL_TEXTS) == []
        lecture_frame.locator(part).first.click()
        assert lecture.evaluate("document.activeElement.tagName") == "IFRAME"  # it has the keys
        # Not `keyboard.press`: the frame is gone when the key is released, and Chromium may never
        # answer.
        lecture_frame.locator("body").dispatch_event("keydown", {"key": key})
        expect(lecture.locator("iframe")).to_have_count(0)


def test_every_scene_fits_a_projector(lecture: Page) -> None:
    for number in range(1, 12):
        expect(lecture.get_by_text(f"{number}/11", exact=True)).to_be_visible()
        for part in (".choices", "footer"):
            expect(lecture.locator(part)).to_be_in_viewport(ratio=0.99)
        if lecture.locator("pre").count():
            expect(lecture.locator(".lit")).to_be_in_viewport()
            beside = "node => node.scrollWidth - node.clientWidth"
            assert lecture.locator(".picture").evaluate(beside) <= 0, f"code {number} is cut"
            assert lecture.locator(".picture").evaluate(HAS_WHOLE_LINES)
        assert lecture.locator("body").evaluate(SMALL_TEXTS) == []
        lecture.keyboard.press("ArrowRight")
        expect(lecture.locator(".why")).to_be_in_viewport(ratio=0.99)
        expect(lecture.locator(".choices .right")).to_be_in_viewport(ratio=0.99)
        if lecture.locator("pre").count():
            assert lecture.locator(".picture").evaluate(HAS_WHOLE_LINES)
        left = "node => node.scrollHeight - node.clientHeight"
        for part in (".left", ".body:not(.code) .picture"):
            for each in lecture.locator(part).all():
                assert each.evaluate(left) <= 0, f"scene {number} is cut"
        assert lecture.locator("body").evaluate(SMALL_TEXTS) == []
        lecture.keyboard.press("ArrowRight")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_either_page(
    open_page: Open, server: Server, lecture: Page, phone: Open, scheme: str
) -> None:
    options = {"color_scheme": scheme, "bypass_csp": True}
    pages = [
        open_page(server.address("lecture"), viewport=PROJECTOR, **options),
        phone(**options),
    ]
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    pages[1].locator("[data-choice='0']").click()
    for revealed in (False, True):
        if revealed:
            command(lecture, "forward")
            expect(pages[0].locator(".why")).to_be_visible()
            expect(pages[1].locator(".evidence")).to_be_visible()
        else:
            expect(pages[0].locator(".choices")).to_be_visible()
        for page in pages:
            page.evaluate(axe)
            assert page.evaluate(FINDINGS) == []


@pytest.mark.alone
def test_a_room_of_phones_answers_at_once(lecture: Page) -> None:
    host, _, code = link_of(lecture).removeprefix("http://").partition("/")
    with ThreadPoolExecutor() as beside:  # Playwright's loop runs in this thread
        took_s = beside.submit(lambda: asyncio.run(_all_answer(host, code))).result()
    expect(lecture.get_by_text(f"{NUM_PHONES} answers ·")).to_be_visible()
    print(f"{NUM_PHONES} phones answered within {took_s:.2f} s")
    assert took_s < ANSWERED_WITHIN_S


async def _all_answer(host: str, code: str) -> float:
    begun = time.monotonic()
    await asyncio.gather(*(_answer(host, code, number) for number in range(NUM_PHONES)))
    return time.monotonic() - begun


async def _answer(host: str, code: str, number: int) -> None:
    """Open the page, ask for the question and answer it, each on a connection of its own."""
    address, _, port = host.partition(":")
    page = await _send(address, int(port), f"GET /{code}", "")
    cookie = re.search(r"set-cookie: ([^;]+)", page)
    assert cookie
    await _send(address, int(port), f"GET /{code}/question", cookie[1])
    answered = await _send(address, int(port), f"POST /{code}/answers/0/{number % 4}", cookie[1])
    assert answered.startswith("HTTP/1.1 200"), answered


async def _send(address: str, port: int, what: str, cookie: str) -> str:
    reader, writer = await asyncio.open_connection(address, port)
    host = f"{address}:{port}"
    head = f"{what} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nConnection: close\r\n"
    writer.write(f"{head}Cookie: {cookie or 'none=x'}\r\nContent-Length: 0\r\n\r\n".encode())
    found = (await reader.read()).decode()
    writer.close()
    return found


def test_the_lecture_says_how_many_questions_it_has(open_page: Open, server: Server) -> None:
    page = open_page(server.address("contexts"))
    wait_until_drawn(page)
    page.get_by_role("link", name="Give a lecture").hover()
    expect(page.get_by_text("11 questions for a projector")).to_be_visible()
