"""The lab's server and a real Chromium, started for a benchmark and gone after it."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from strategy_lab.app.server.asgi_app import free_port
from tests import lab_access

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@contextmanager
def serve_lab(runs: Path, *, start_timeout_s: float = 60) -> Iterator[str]:
    """The address of a lab over a runs folder, on a port of its own.

    Pages of it are opened `with_token`.
    """
    with serve("strategy_lab.app", "--runs", str(runs), start_timeout_s=start_timeout_s) as address:
        yield address


@contextmanager
def serve(module: str, *arguments: str, start_timeout_s: float = 60) -> Iterator[str]:
    """The address of what `python -m module --port N` serves with Streamlit."""
    port = free_port("127.0.0.1", 0)
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", module, "--port", str(port), *arguments]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=lab_access.environment())
    try:
        deadline = time.monotonic() + start_timeout_s
        while not _answers(address):
            if time.monotonic() > deadline or server.poll() is not None:
                raise RuntimeError(f"the server of {module} did not start")
            time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(20)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def _answers(address: str) -> bool:
    request = urllib.request.Request(f"{address}/_stcore/health", headers=lab_access.HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=1):
            return True
    except OSError:
        return False
