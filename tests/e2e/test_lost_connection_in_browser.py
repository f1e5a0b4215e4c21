"""A page whose connection is lost while it opens is shown all the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests import lab_access
from tests.conftest import MAX_WAIT_MS
from tests.e2e.conftest import Server

pytestmark = pytest.mark.browser


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    """A page that may throw errors."""
    with browser.new_context() as context:
        context.add_cookies([lab_access.cookie(server.url)])
        page = context.new_page()
        page.set_default_timeout(MAX_WAIT_MS)
        yield page


@pytest.mark.parametrize(("num_arrived", "num_lost"), [(2, 1), (3, 3), (5, 3)])
def test_a_connection_that_is_lost_while_a_page_opens(
    page: Page, server: Server, num_arrived: int, num_lost: int
) -> None:
    """Streamlit's client then often takes its page down: in 8 of 30 such tries."""
    sockets: list[WebSocketRoute] = []

    def connect(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        if len(sockets) == 1:
            _lose_after(socket, num_arrived, num_lost)
        else:
            socket.connect_to_server()

    server.write_run("lost", steps=30, windows=1)
    page.route_web_socket("**/stream", connect)
    page.goto(server.address(run="lost"))
    expect(page.locator(".live")).to_have_attribute("data-step", "29")
    assert len(sockets) > 1


def test_a_page_that_streamlit_took_down_is_loaded_again_once(page: Page, server: Server) -> None:
    server.write_run("lost", steps=30, windows=1)
    loads: list[str] = []
    page.on("load", lambda loaded: loads.append(loaded.url))
    page.goto(server.address(run="lost"))
    expect(page.locator(".live")).to_have_attribute("data-step", "29")
    taken_down = "document.getElementById('root').replaceChildren()"
    with page.expect_event("load"):
        page.evaluate(taken_down)
    expect(page.locator(".live")).to_have_attribute("data-step", "29")
    reloaded_at = "sessionStorage.getItem('strategy-lab-reloaded-at')"
    before = page.evaluate(reloaded_at)
    page.evaluate(taken_down)  # at once: a fault of each load
    page.wait_for_timeout(1500)
    assert page.evaluate(reloaded_at) == before
    assert len(loads) == 2


def _lose_after(socket: WebSocketRoute, num_arrived: int, num_lost: int) -> None:
    """Deliver the server's first messages, lose the next ones, close both ends."""
    server, num_sent = socket.connect_to_server(), 0

    def deliver(message: str | bytes) -> None:
        nonlocal num_sent
        num_sent += 1
        if num_sent <= num_arrived:
            socket.send(message)
        elif num_sent == num_arrived + num_lost + 1:
            server.close()
            socket.close(code=1011)

    socket.on_message(server.send)
    server.on_message(deliver)
