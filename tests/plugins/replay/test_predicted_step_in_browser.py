"""From the page What if to the timeline with the predicted rows of a real step, and away again."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_for_a_frame, wait_until_drawn

pytestmark = [pytest.mark.browser, pytest.mark.run]
ROWS = '.timeline[data-predicted]:not([data-predicted=""])'


@pytest.fixture
def recorded(finished_run: Path, server: Server) -> str:
    """A real run in the folder of the server."""
    copied = server.runs / "predicted"
    if not copied.exists():
        shutil.copytree(finished_run, copied)
    return copied.name


def test_a_what_if_is_drawn_below_the_measured_rows(
    recorded: str, server: Server, open_page: Callable[..., Page]
) -> None:
    page = open_page(server.address("what_if", run=recorded))
    page.get_by_role("link", name="with compute 2 times as fast").first.click()
    expect(page).to_have_url(re.compile(r"timeline\?.*edit=faster"))
    expect(page.locator(ROWS)).to_have_count(1)
    head = page.locator(".timeline .predicted")
    sentence = re.compile(
        r"predicted: with compute 2 times as fast, .* instead of .* ms \(.* to .*"
    )
    expect(head).to_contain_text(sentence)
    assert "predicted: " in _hovered(page)
    before = page.locator(ROWS).get_attribute("data-from")
    page.get_by_role("button", name="Zoom in").click()
    expect(page.locator(ROWS)).not_to_have_attribute("data-from", before or "")
    page.reload()
    wait_until_drawn(page)
    expect(head).to_contain_text(sentence)
    page.get_by_role("button", name="Remove the predicted rows").click()
    expect(page.locator(ROWS)).to_have_count(0)
    expect(page).not_to_have_url(re.compile("edit="))
    expect(head).to_be_hidden()


def _hovered(page: Page) -> str:
    """What the tooltip says of an op on the first predicted row."""
    head = page.locator(".timeline .predicted").bounding_box()
    assert head is not None
    tip = page.locator(".timeline .tip:not([hidden])")
    for x in range(int(head["x"]) + 160, int(head["x"] + head["width"]), 5):
        page.mouse.move(x, head["y"] + head["height"] + 34)
        wait_for_a_frame(page)
        if tip.count():
            return tip.inner_text()
    pytest.fail("no op on the first predicted row")
