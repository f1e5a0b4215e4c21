"""Open a page about runs without a browser, on a runs folder of the test's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from strategy_app.added_pages import added_pages
from strategy_app.server import state
from tests.timeouts import MAX_WAIT_S

ALL = (
    "lab",
    "overview",
    "timeline",
    "communication",
    "placement",
    "compare",
    "runs",
    "help",
    *added_pages(),
)
_FRAME = """
import streamlit as st
from strategy_app.added_pages import source_of
st.navigation([
    st.Page(source_of(name), title=name, url_path=name, default=name == {page!r})
    for name in {names!r}
]).run()
"""


def open_page(page: str, runs: Path, **query: str | list[str]) -> AppTest:
    """Run a page once with these query parameters; fails where it raises."""
    state.configure(runs)
    frame = _FRAME.format(page=page, names=ALL)
    at = AppTest.from_string(frame, default_timeout=MAX_WAIT_S)
    for name, value in query.items():
        at.query_params[name] = value
    return rerun(at)


def rerun(at: AppTest) -> AppTest:
    at.run()
    assert not at.exception, [item.value for item in at.exception]
    return at


def text_of(at: AppTest) -> str:
    """Everything that the page says, markup included; every space is a plain one."""
    parts = [
        item.value
        for kind in ("title", "header", "subheader", "markdown", "caption")
        for item in at.get(kind)
    ]
    parts += [item.value for kind in ("warning", "error", "info") for item in at.get(kind)]
    parts += [item.proto.body for item in at.get("html")]
    return "\n".join(str(part) for part in parts).replace("\u00a0", " ")


def charts_of(at: AppTest) -> list[dict[str, Any]]:
    """The Plotly figures of a page, in its order."""
    components = [item.proto for item in at.get("bidi_component")]
    return [
        json.loads(json.loads(each.json)["figure"])
        for each in components
        if each.component_name.endswith(".chart")
    ]
