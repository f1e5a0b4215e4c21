"""One server with a spare worker and one Chromium for every browser test; a page for each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests import lab_access
from tests.conftest import MAX_WAIT_MS
from tests.e2e.warm_context import WarmContexts
from tests.server_process import server_process
from tests.synthetic import write_run

START_TIMEOUT_S = 120
VIEWPORT = {"width": 1440, "height": 1000}
EXPECTED_STATUS = ("404", "409")
"""A run is gone, or another one has its name: the browser reports these answers by itself."""


@dataclass(frozen=True)
class Server:
    """A lab that serves a runs folder of the tests' own."""

    url: str
    runs: Path

    def address(self, page: str = "", **query: str) -> str:
        pairs = "&".join(f"{name}={value}" for name, value in query.items())
        return f"{self.url}/{page}" + (f"?{pairs}" if pairs else "")

    def write_run(self, name: str, **options: Any) -> Path:
        """A made-up run in the served folder; what an earlier try left there goes first."""
        shutil.rmtree(self.runs / name, ignore_errors=True)
        return write_run(self.runs / name, **options)

    def fresh(self, name: str) -> Path:
        """A run's folder that is not there yet, also where a test has its second try."""
        names = (name, *(f"{name}-{number}" for number in range(2, 100)))
        return next(self.runs / each for each in names if not (self.runs / each).exists())


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    """A lab in a process of its own, as `strategy-lab ui` starts it; its runs are in a folder."""
    runs, log = folder / "runs", folder / "server.log"
    with server_process(log, "--runs", str(runs), timeout_s=START_TIMEOUT_S) as started:
        yield Server(started.url, runs)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The lab that browser tests share."""
    with served(tmp_path_factory.mktemp("lab")) as started:
        yield started


@pytest.fixture(scope="session")
def warm_contexts() -> WarmContexts:
    return WarmContexts()


@pytest.fixture
def open_page(
    request: pytest.FixtureRequest, browser: Browser, server: Server, warm_contexts: WarmContexts
) -> Iterator[Callable[..., Page]]:
    """Open a page as in a browser of its own that was let in; it may neither fail nor call out.

    With `own_context=True`, or on a second try, nothing is shared with earlier tests. A page's
    clock, for one, is that of its context.
    """
    own_contexts, console_errors = [], []
    if getattr(request.node, "execution_count", 1) > 1:
        warm_contexts.close()

    def note(text: str) -> None:
        if not any(status in text for status in EXPECTED_STATUS):
            console_errors.append(text)

    def check_request(request: Any) -> None:
        if not request.url.startswith((server.url, "data:", "blob:")):
            console_errors.append(f"a request to {request.url}")

    def opened(address: str, *, own_context: bool = False, **options: Any) -> Page:
        options = {"viewport": VIEWPORT, "reduced_motion": "reduce"} | options
        if own_context:
            context = browser.new_context(**options)
            own_contexts.append(context)
            context.add_cookies([lab_access.cookie(server.url)])
            page = context.new_page()
        else:
            page = warm_contexts.new_page(browser, server.url, options)
        page.set_default_timeout(MAX_WAIT_MS)
        page.on("pageerror", lambda error: note(str(error)))
        page.on("console", lambda item: note(item.text) if item.type == "error" else None)
        page.on("request", check_request)
        page.goto(address)
        return page

    yield opened
    heard = list(console_errors)  # not those of a page that is taken away
    for context in own_contexts:
        context.close()
    warm_contexts.clear()
    assert not heard
