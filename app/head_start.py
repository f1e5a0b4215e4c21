"""While the browser still starts a page, the server reads the run that it will ask about, and the
browser is told which parts of Streamlit it will need.

A page's script begins when the browser has loaded and run Streamlit's own two megabytes: most of
a second after the page was asked for. And of each part (chart, table, select box) the browser
learns only when the first of its kind arrives.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

import streamlit as st
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import state
from app.access import is_allowed
from app.hub import run_folder
from app.parts.opened import OpenRun, open_run
from profiles.errors import LabError

SCRIPTS = Path(st.__file__).parent / "static" / "static" / "js"
PARTS = {"Selectbox": "high", "Html": "high", "PlotlyChart": "low"}
"""What nearly every page about a run is drawn with, and how urgent it is. Where another Streamlit
names one otherwise, the browser finds it later, as ever."""
_IMPORT = re.compile(rb"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")
_HEAD_BYTES = 8192
"""A script's imports are its first statements."""

Warm = Callable[[Mapping[str, str]], None]
"""Gets ready what an address asks for, given its query."""


class HeadStart:
    """Middleware: a page that is asked for gets a head start, everything else passes."""

    def __init__(self, app: ASGIApp, warm: Warm | None = None) -> None:
        self._app = app
        self._warm = warm or read_asked_runs
        self._is_busy = threading.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_page(scope):
            await self._app(scope, receive, send)
            return
        if is_allowed(HTTPConnection(scope)):
            self._begin(_query(scope))

        async def with_links(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"link", preloads())]
            await send(message)

        await self._app(scope, receive, with_links)

    def _begin(self, query: Mapping[str, str]) -> None:
        """Warm up in a thread; one at a time, for the page itself needs the processor, too."""
        if query and self._is_busy.acquire(blocking=False):
            threading.Thread(
                target=self._run, args=(query,), name="head-start", daemon=True
            ).start()

    def _run(self, query: Mapping[str, str]) -> None:
        try:
            self._warm(query)
        except (LabError, OSError):
            pass  # the page says what is wrong with the run
        finally:
            self._is_busy.release()


def read_asked_runs(query: Mapping[str, str]) -> None:
    """Read the runs that a page's address names (`run`, or `a` and `b`), and the usual facts."""
    runs = state.lab().runs
    for key in ("run", "a", "b"):
        if key in query:
            _read(open_run(run_folder(runs, query[key])))


def _read(opened: OpenRun) -> None:
    from app.parts.segments import facts_of

    segments = opened.profile.segments
    if segments:
        opened.ask(facts_of, segments[-1].segment)


@cache
def preloads() -> bytes:
    """The `Link` header that names the parts and what they import."""
    urgency: dict[str, str] = {}
    for part, how_urgent in PARTS.items():
        for script in sorted(SCRIPTS.glob(f"{part}.*.js")):
            for name in (script.name, *_imports(script)):
                urgency.setdefault(name, how_urgent)
    links = (
        f"</static/js/{name}>; rel=modulepreload; crossorigin; fetchpriority={how_urgent}"
        for name, how_urgent in urgency.items()
    )
    return ", ".join(links).encode()


def _imports(script: Path) -> Iterator[str]:
    with script.open("rb") as file:
        for found in _IMPORT.findall(file.read(_HEAD_BYTES)):
            if (SCRIPTS / found.decode()).exists():
                yield found.decode()


def _is_page(scope: Scope) -> bool:
    """Whether a browser asks for a page: nothing else accepts HTML by name."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    accepted = next((value for name, value in scope["headers"] if name == b"accept"), b"")
    return b"text/html" in accepted and scope["path"].count("/") == 1


def _query(scope: Scope) -> dict[str, str]:
    found = parse_qs(scope["query_string"].decode("ascii", "replace"))
    return {key: values[0] for key, values in found.items()}
