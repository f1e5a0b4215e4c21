"""A traced program, changed and traced again: its gain on the first screen, its diff a click on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.e2e.conftest import Server
from tests.synthetic.recorded_again import write_run_of_program

pytestmark = pytest.mark.browser
SIZES: tuple[ViewportSize, ...] = ({"width": 1280, "height": 720}, {"width": 390, "height": 844})


@pytest.fixture
def after(server: Server) -> str:
    """The name of the second run of a program that waits for its input."""
    options = {"strategy": "one-device", "replicas": 1, "windows": 1, "window_steps": 4}
    names = [server.fresh(f"program-{when}") for when in ("before", "after")]
    for minute, (run, input_ms) in enumerate(zip(names, (90.0, 40.0), strict=True)):
        text = f"data.map(load, {input_ms:g})"
        write_run_of_program(
            run, minute, text, [str(names[0])], input_ms=input_ms, causes=(), **options
        )
    return names[1].name


@pytest.mark.parametrize("size", SIZES, ids=["laptop", "phone"])
def test_gain_and_remedy_are_on_the_first_screen_and_the_diff_is_a_click_away(
    size: ViewportSize, after: str, open_page: Callable[..., Page], server: Server
) -> None:
    page = open_page(server.address("overview", run=after), viewport=size)
    gain = page.get_by_text(re.compile(r"times as fast as the run of"))
    expect(gain).to_be_in_viewport(ratio=1)
    expect(page.get_by_text(re.compile("^Try: ")).first).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("strategy-lab trace train.py", exact=True)).to_have_count(1)
    page.get_by_role("link", name="Compare, with the changed lines").click()
    expect(page.locator(".lab-code .gone")).to_have_text("-data.map(load, 90)")
    expect(page.locator(".lab-code .new")).to_have_text("+data.map(load, 40)")
    if size["width"] > 1000:
        expect(page.locator(".lab-code.diff")).to_be_in_viewport()


def test_on_a_phone_the_remedy_is_above_the_numbers(
    after: str, open_page: Callable[..., Page], server: Server
) -> None:
    page = open_page(server.address("overview", run=after), viewport=SIZES[1])
    remedy = page.get_by_text(re.compile("^Try: ")).first.bounding_box()
    numbers = page.get_by_text("Loop time per step").first.bounding_box()
    assert remedy is not None
    assert numbers is not None
    assert remedy["y"] < numbers["y"]
