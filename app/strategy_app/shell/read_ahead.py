"""Read a run as soon as its page is requested, while the browser still loads Streamlit.

Streamlit runs a page only once the browser has loaded 60 modules and opened a connection. A long
run is read in that time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Receive, Scope, Send

from strategy_app.live.hub import run_folder
from strategy_app.screen.answer import answer_of
from strategy_app.server import state
from strategy_app.server.assets import NEEDED
from strategy_app.server.opened import open_run
from strategy_app.server.timelines import place_of
from strategy_app.widgets.comparison_picker import Side, usual_segments
from strategy_app.widgets.run_list import PAGE_ROWS, row_of
from strategy_app.widgets.runs_folder import list_runs
from strategy_app.widgets.segments import facts_of
from strategy_app.widgets.side_comparison import compare
from strategy_app.widgets.verdict import with_gains
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.errors import LabError
from strategy_profiles.questions.input_stages import input_pipeline
from strategy_profiles.questions.step_memory import memory_over_step

PAGES = NEEDED.keys() - {"/"}
"""The Lab follows the files of its run itself, from where it has read them."""
RUN_KEYS = ("run", "a", "b")
"""The query parameters that name runs."""
CHOSEN = {"segment_a", "segment_b", "more_a", "more_b"}
"""Those that make a side of Compare another one than its run's usual segment."""


class ReadAhead:
    """ASGI middleware: notes which page of which runs is requested, and answers nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._reader = ThreadPoolExecutor(1, "read-ahead")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"] in PAGES:
            if scope["path"] == "/runs":
                self._reader.submit(read_rows)
            query = parse_qs(scope["query_string"].decode("latin-1"))
            for name in [name for key in RUN_KEYS for name in query.get(key, [])[:1]]:
                address = {key: values[0] for key, values in query.items()}
                self._reader.submit(read, scope["path"], name, address)
            is_pair = {"a", "b"} <= query.keys() and not query.keys() & CHOSEN
            if scope["path"] == "/compare" and is_pair:
                self._reader.submit(compare_ahead, query["a"][0], query["b"][0])
        await self._app(scope, receive, send)


def read(page: str, run: str, address: Mapping[str, str]) -> None:
    """Read what a page asks of a run first; the page finds it in memory (`server.opened`)."""
    with contextlib.suppress(LabError):  # the page says what is wrong
        opened = open_run(run_folder(state.lab().runs, run))
        if page == "/overview" and (segment := headline_segment(opened.profile)):
            opened.ask(facts_of, segment.segment)
            with_gains(opened, segment.segment)
            # The page asks for these last, when most of the browser's work is still to do.
            for question in (memory_over_step, input_pipeline):
                answer_of(opened, question, segment.segment)
        if page == "/timeline":
            state.lab().timelines.describe(run, place_of(address))


def read_rows() -> None:
    """Read what the list of runs says of those that it shows first."""
    for entry in list_runs(state.lab().runs)[:PAGE_ROWS]:
        row_of(entry)


def compare_ahead(a: str, b: str) -> None:
    """Compare the runs `a` and `b`; the page finds the answer (`widgets.side_comparison`)."""
    with contextlib.suppress(LabError):
        runs = state.lab().runs
        one, other = open_run(run_folder(runs, a)), open_run(run_folder(runs, b))
        segment_a, segment_b = usual_segments(one, other)
        compare(Side("A", one, segment_a), Side("B", other, segment_b), list_runs(runs))
