"""The lab's server and a real Chromium, started for a benchmark and gone after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from tests.chromium import launch_chromium
from tests.server_process import server_process


@contextmanager
def serve_lab(runs: Path, *, start_timeout_s: float = 60) -> Iterator[str]:
    """The address of a lab over a runs folder, on a port of its own.

    Pages of it are opened `with_token`.
    """
    with serve("strategy_app", "--runs", str(runs), start_timeout_s=start_timeout_s) as address:
        yield address


@contextmanager
def serve(module: str, *arguments: str, start_timeout_s: float = 60) -> Iterator[str]:
    """The address of what `python -m module --port N` serves with Streamlit."""
    with TemporaryDirectory() as folder:
        log = Path(folder) / "server.log"
        with server_process(log, *arguments, module=module, timeout_s=start_timeout_s) as server:
            yield server.url


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch_chromium(playwright)
        try:
            yield browser
        finally:
            browser.close()
