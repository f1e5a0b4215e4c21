"""A run that is recorded again under its name: open pages start over with the new one."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until_drawn
from tests.synthetic import write_run

pytestmark = pytest.mark.browser


def record_again(server: Server, name: str, **options: object) -> None:
    """Another run takes the name, all at once, as a run that was copied there."""
    write_run(server.runs.parent / name, **options)
    shutil.rmtree(server.runs / name)
    (server.runs.parent / name).rename(server.runs / name)


def test_the_live_page_shows_the_new_run_alone(
    open_page: Callable[..., Page], server: Server
) -> None:
    server.write_run("again", steps=400, windows=0)
    page = open_page(server.address("lab", run="again"))
    live = page.locator(".live")
    expect(live).to_have_attribute("data-step", "399")
    record_again(server, "again", steps=30, windows=0, ending="failed")
    expect(live).to_have_attribute("data-step", "29")
    expect(live).to_have_attribute("data-status", "failed")
    expect(live).to_have_attribute("data-segments", "1")


def test_the_live_page_says_that_a_run_is_gone_and_shows_the_next_of_its_name(
    open_page: Callable[..., Page], server: Server
) -> None:
    folder = server.write_run("gone", steps=40, windows=0)
    page = open_page(server.address("lab", run="gone"))
    expect(page.locator(".live")).to_have_attribute("data-step", "39")
    shutil.rmtree(folder)
    expect(
        page.get_by_text(re.compile("no longer in the runs folder|There is no run")).first
    ).to_be_visible()
    server.write_run("gone", steps=20, windows=0)
    page.reload()
    expect(page.locator(".live")).to_have_attribute("data-step", "19")


def test_the_timeline_shows_the_spans_of_the_new_run(
    open_page: Callable[..., Page], server: Server
) -> None:
    server.write_run("spans", steps=120, windows=3)
    page = open_page(server.address("timeline", run="spans"))
    wait_until_drawn(page)
    timeline = page.locator(".timeline")
    before = timeline.get_attribute("data-spans")
    record_again(server, "spans", steps=40, windows=1)
    timeline.locator("canvas").first.focus()
    # Spans beyond those that the browser has: it loads one view more on each side.
    page.keyboard.press("Home")
    expect(timeline).not_to_have_attribute("data-spans", before or "")
    wait_until_drawn(page)
