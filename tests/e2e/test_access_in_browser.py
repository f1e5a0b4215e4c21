"""Who gets into the lab, in Chromium: by the printed address and its cookie; no other page does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from strategy_app.server.browser import redirect_file
from tests.conftest import MAX_WAIT_MS
from tests.e2e.conftest import Server
from tests.e2e.drawn import wait_until
from tests.e2e.elsewhere import Elsewhere, elsewhere
from tests.lab_access import TOKEN, cookie, with_token

pytestmark = pytest.mark.browser

WORKLOAD = """
from pathlib import Path
Path({marker!r}).write_text("executed")
from strategy_core.workloads.digits_mlp import *
"""


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that was never in the lab."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(MAX_WAIT_MS)
    yield context
    context.close()


@pytest.fixture
def site() -> Iterator[Elsewhere]:
    with elsewhere() as site:
        yield site


def expect_the_lab(page: Page) -> None:
    expect(page.get_by_role("button", name="Run").filter(has_text="Ctrl")).to_be_visible()


def test_the_printed_address_opens_the_lab_and_a_reload_does_too(
    context: BrowserContext, server: Server
) -> None:
    page = context.new_page()
    page.goto(with_token(server.url))
    expect_the_lab(page)
    assert TOKEN not in page.url
    assert page.evaluate("document.cookie").find("strategy-lab") == -1
    (kept,) = [item for item in context.cookies() if item["name"].startswith("strategy-lab")]
    assert kept["httpOnly"]
    assert kept["sameSite"] == "Strict"
    assert kept["path"] == "/"
    page.reload()
    expect_the_lab(page)
    page.go_back()  # the address with the token is not in the history
    assert TOKEN not in page.url


def test_a_link_to_a_run_opens_it_with_the_token(context: BrowserContext, server: Server) -> None:
    server.write_run("linked", steps=20, windows=1)
    page = context.new_page()
    page.goto(with_token(f"{server.url}/overview?run=linked"))
    page.locator(".lab-headline").wait_for()
    assert page.url == f"{server.url}/overview?run=linked"


def test_a_link_on_another_site_opens_the_lab_for_who_is_in(
    context: BrowserContext, server: Server, site: Elsewhere
) -> None:
    """The browser sends no SameSite=Strict cookie with such a click."""
    server.write_run("from-a-chat", steps=20, windows=1)
    context.add_cookies([cookie(server.url)])
    target = f"{server.url}/overview?run=from-a-chat"
    site.pages["/chat"] = f'<a href="{target}">look</a>'
    page = context.new_page()
    page.goto(site.url("/chat"))
    page.get_by_text("look").click()
    page.locator(".lab-headline").wait_for()


def test_the_private_file_leads_into_the_lab(
    context: BrowserContext, server: Server, tmp_path: Path
) -> None:
    page = context.new_page()
    page.goto(redirect_file(tmp_path, with_token(server.url)).as_uri())
    expect_the_lab(page)
    assert TOKEN not in page.url


def test_without_the_token_a_form_asks_for_it(context: BrowserContext, server: Server) -> None:
    server.write_run("asked-for", steps=20, windows=1)
    page = context.new_page()
    page.goto(f"{server.url}/overview?run=asked-for&token=of-an-earlier-launch")
    expect(page.get_by_text("not valid for the running")).to_be_visible()
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open the lab").click()
    page.locator(".lab-headline").wait_for()
    assert page.url == f"{server.url}/overview?run=asked-for"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_no_other_page_can_frame_the_lab(
    host: str, context: BrowserContext, server: Server, site: Elsewhere
) -> None:
    context.add_cookies([cookie(server.url)])
    site.pages["/frame"] = f'<iframe src="{server.url}/?steps=1"></iframe>'
    page = context.new_page()
    page.goto(site.url("/frame", host=host))
    (frame,) = [each for each in page.frames if each != page.main_frame]
    wait_until(page, lambda: "error" in frame.url, "the frame is not refused")
    assert frame.get_by_role("button").count() == 0


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
@pytest.mark.parametrize("path", ["/_stcore/stream", "/api/runs/heard/stream"])
def test_no_other_page_can_open_a_websocket_of_the_lab(
    path: str, host: str, context: BrowserContext, server: Server, site: Elsewhere
) -> None:
    """Another port of 127.0.0.1 is the same site: the browser sends the cookie."""
    server.write_run("heard", steps=20, windows=1)
    context.add_cookies([cookie(server.url)])
    site.pages["/listen"] = "<title>listening</title>"
    page = context.new_page()
    page.goto(site.url("/listen", host=host))
    heard = page.evaluate(
        """(url) => new Promise((resolve) => {
            const socket = new WebSocket(url);
            socket.onopen = () => resolve("opened");
            socket.onclose = (event) => resolve(event.code);
        })""",
        server.url.replace("http", "ws") + path,
    )
    assert heard == 1006


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_no_other_page_can_read_or_change_anything(
    host: str, context: BrowserContext, server: Server, site: Elsewhere
) -> None:
    server.write_run("read", steps=20, windows=1)
    context.add_cookies([cookie(server.url)])
    site.pages["/fetch"] = "<title>fetching</title>"
    page = context.new_page()
    page.goto(site.url("/fetch", host=host))
    script = """([url, mode, method]) =>
        fetch(url, {credentials: "include", mode, method}).then(() => "read", () => "refused")"""
    for path in ("/api/runs/read/timeline", "/report/read", "/_stcore/host-config"):
        for mode, method in (("no-cors", "GET"), ("no-cors", "POST"), ("cors", "GET")):
            assert page.evaluate(script, [server.url + path, mode, method]) == "refused"


def test_another_site_does_not_learn_the_token(
    context: BrowserContext, server: Server, site: Elsewhere
) -> None:
    site.pages["/next"] = "next"
    page = context.new_page()
    page.goto(with_token(server.url))
    expect_the_lab(page)
    page.evaluate("(url) => { location.href = url; }", site.url("/next"))
    page.wait_for_url(site.url("/next"))
    assert site.referrers["/next"] == ""


def test_a_workload_file_of_a_link_runs_only_after_the_person_confirms_it(
    context: BrowserContext, server: Server, site: Elsewhere, tmp_path: Path
) -> None:
    marker, workload = tmp_path / "marker", tmp_path / "theirs.py"
    workload.write_text(WORKLOAD.format(marker=str(marker)))
    context.add_cookies([cookie(server.url)])
    link = f"{server.url}/?workload=My+own+file&workload_file={workload}&steps=1&batch=64"
    site.pages["/trap"] = f'<a href="{link}">click</a>'
    page = context.new_page()
    page.goto(site.url("/trap"))
    page.get_by_text("click").click()
    run = page.get_by_role("button", name="Run").filter(has_text="Ctrl")
    expect(page.get_by_text("The path of the workload file")).to_be_visible()
    expect(page.get_by_text(str(workload))).to_be_visible()
    expect(run).to_be_disabled()
    page.keyboard.press("Control+Enter")
    page.get_by_label("Steps", exact=True).fill("2")
    page.get_by_label("Steps", exact=True).press("Control+Enter")
    page.wait_for_timeout(1500)
    expect(run).to_be_disabled()
    before = set(server.runs.iterdir())
    page.get_by_role("button", name="Use this workload file").click()
    expect(run).to_be_enabled()
    assert not marker.exists()
    run.click()
    page.wait_for_url("**run=mirrored-*theirs-*")
    expect(page.locator(".live")).to_contain_text("Finished", timeout=MAX_WAIT_MS * 2)
    assert marker.exists()
    new = set(server.runs.iterdir()) - before
    assert len([path for path in new if not path.name.startswith(".")]) == 1
