"""Times a first visit of a page in a Chromium without a debugger: to its answer, and to all of it.

A debugger on a page (Playwright's too) has the engine work out where in the source every error
that a library merely makes would be, which parses the library that draws charts several times
over. Visitors have none, so here a content script keeps the time inside the page, and the page's
title, read from the browser's list of tabs, tells it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.chromium import FLAGS, chromium_path
from tests.e2e.drawn import IS_DRAWN

SETTLE_S = 1.5
TIMEOUT_S = 60.0
_MARK = "visit "
_MANIFEST = {
    "manifest_version": 3,
    "name": "visits",
    "version": "1",
    "content_scripts": [
        {"matches": ["http://127.0.0.1/*"], "js": ["watch.js"], "run_at": "document_start"}
    ],
}
_WATCH = """
const isDrawn = IS_DRAWN;
const find = (path) => path.split(' >>> ').reduce(
  (root, selector) => root && (root.shadowRoot ?? root).querySelector(selector), document);
let answer = null;
const look = () => {
  const path = decodeURIComponent(location.hash.slice(1));
  if (answer === null && path && find(path)) answer = performance.now();
  if (answer !== null && isDrawn()) {
    const told = `visit ${answer} ${performance.now()}`;
    setInterval(() => { document.title = told; }, 50);  // over what the page calls itself
  } else setTimeout(look, 10);
};
look();
"""


@dataclass(frozen=True, slots=True)
class Visit:
    """Seconds from asking for the address."""

    answer_s: float
    whole_s: float


def visit(url: str, answer: str) -> Visit:
    """Open `url` with an empty cache; `answer` is the selector of what a page says first,
    ` >>> ` in it a step into a shadow."""
    with _browser() as address:
        time.sleep(SETTLE_S)  # the browser's own start is over
        _request(f"{address}/json/new?{quote(f'{url}#{quote(answer)}', safe='')}", "PUT")
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            for tab in _request(f"{address}/json/list"):
                if tab["title"].startswith(_MARK):
                    first, last = tab["title"].removeprefix(_MARK).split()
                    return Visit(float(first) / 1000, float(last) / 1000)
            time.sleep(0.2)
    raise SystemExit(f"{url}: not drawn within {TIMEOUT_S:.0f} s")


@contextmanager
def _browser() -> Iterator[str]:
    """The address under which a fresh Chromium tells its tabs."""
    home = Path(tempfile.mkdtemp(prefix="strategy-lab-visit-"))
    watcher = home / "watcher"
    watcher.mkdir()
    (watcher / "manifest.json").write_text(json.dumps(_MANIFEST))
    (watcher / "watch.js").write_text(_WATCH.replace("IS_DRAWN", IS_DRAWN))
    profile = home / "profile"
    command = [
        chromium_path(),
        "--headless=new",
        *FLAGS,
        "--window-size=1400,1000",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        f"--load-extension={watcher}",
        "--disable-features=DisableLoadExtensionCommandLineSwitch",
        "about:blank",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{_port(profile, process)}"
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(home, ignore_errors=True)


def _port(profile: Path, process: subprocess.Popen[bytes]) -> int:
    port_file = profile / "DevToolsActivePort"
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        lines = port_file.read_text().split() if port_file.exists() else []
        if lines:
            return int(lines[0])
        time.sleep(0.05)
    raise SystemExit("Chromium did not start")


def _request(url: str, method: str = "GET") -> Any:
    request = urllib.request.Request(url, method=method)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        return json.load(answer)
