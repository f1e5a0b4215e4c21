"""Pages of one test after another in one renderer process, which compiles Streamlit's code once.

A page in a new context gets a new process, and its first load takes 6 s of processor time. In a
process that has loaded the lab before it takes 3 to 4 s. Chromium gives a page the process of the
page that opened it if both have the same origin and Cross-Origin-Opener-Policy.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from playwright.sync_api import Browser, Error, Page, Route

from tests import lab_access

OPENER = "opener-of-test-pages"
OPEN = "() => { window.open('about:blank', '_blank', 'popup').opener = null; }"
MEDIA = ("color_scheme", "reduced_motion")
"""What is set for a page; other options are those of a context."""
FORGET = "() => { localStorage.clear(); sessionStorage.clear(); }"


class WarmContext:
    """A context of one browser for the pages of one server, of which each test finds it empty."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self._url = url
        self._context = browser.new_context(**options)
        self._context.route(f"{url}/{OPENER}", _answer)
        self._opener = self._context.new_page()
        self._opener.goto(f"{url}/{OPENER}")
        # Playwright turns the HTTP cache off while a route is there, and each page then loads and
        # compiles all files again: a fifth of the processor time of these tests.
        self._context.unroute(f"{url}/{OPENER}")
        self.clear()

    def new_page(self, viewport: Any, **media: Any) -> Page:
        with self._context.expect_page() as opened:
            self._opener.evaluate(OPEN)
        page = opened.value
        page.set_viewport_size(viewport)
        page.emulate_media(**media)
        return page

    def clear(self) -> None:
        """Close what a test opened, forget what it stored, and be let in."""
        for page in self._context.pages:
            if page != self._opener:
                page.close()
        self._opener.evaluate(FORGET)
        self._context.clear_cookies()
        self._context.add_cookies([lab_access.cookie(self._url)])

    def close(self) -> None:
        self._context.close()


class WarmContexts:
    """The warm contexts of the server that was asked for last, by their options."""

    def __init__(self) -> None:
        self._server: tuple[Browser, str] | None = None
        self._contexts: dict[tuple[tuple[str, Any], ...], WarmContext] = {}

    def new_page(self, browser: Browser, url: str, options: dict[str, Any]) -> Page:
        if self._server != (browser, url):
            self.close()
            self._server = (browser, url)
        media = {name: options[name] for name in MEDIA if name in options}
        others = {name: options[name] for name in options if name not in (*MEDIA, "viewport")}
        key = tuple(sorted(others.items()))
        if key not in self._contexts:
            self._contexts[key] = WarmContext(browser, url, **others)
        return self._contexts[key].new_page(options["viewport"], **media)

    def clear(self) -> None:
        for context in self._contexts.values():
            context.clear()

    def close(self) -> None:
        for context in self._contexts.values():
            with suppress(Error):  # its browser may have ended
                context.close()
        self._contexts.clear()


def _answer(route: Route) -> None:
    headers = {"Cross-Origin-Opener-Policy": "same-origin"}
    route.fulfill(body="<title>Opens pages</title>", content_type="text/html", headers=headers)
