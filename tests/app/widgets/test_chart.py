"""Every chart says what it shows, and lets the browser paint a visit's first sentence first."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from strategy_app import charts
from tests.timeouts import MAX_WAIT_S

APP = Path(charts.__file__).parents[1]
PLUGINS = Path(__file__).parents[3] / "plugins"


def test_one_function_draws_every_chart_of_the_pages() -> None:
    drawing = [file.name for file in APP.rglob("*.py") if "chart_view(" in file.read_text()]
    assert drawing == ["chart.py", "chart.py"], "of components and of widgets"
    assert not [file for file in APP.rglob("*.py") if "plotly_chart(" in file.read_text()]


def test_every_chart_has_a_text_for_those_who_cannot_see_it() -> None:
    calls = [
        (file.name, {keyword.arg for keyword in node.keywords})
        for folder in (APP, PLUGINS)
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "draw_chart"
    ]
    assert len(calls) > 10
    assert not [name for name, given in calls if "alt" not in given]


def _page() -> None:
    import plotly.graph_objects as go
    import streamlit as st

    from strategy_app.widgets.chart import draw_chart
    from strategy_app.widgets.verdict import show_sentence

    show_sentence("An answer.")
    st.markdown("Its evidence.")
    if "charts" in st.query_params:
        draw_chart(go.Figure(), key="one", alt="A chart")
        draw_chart(go.Figure(), key="two", alt="Another chart")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that moves only when somebody sleeps; `slept` are the pauses."""
    found = SimpleNamespace(now=100.0, slept=[], monotonic=lambda: found.now)

    def sleep(seconds: float) -> None:
        found.now += seconds
        if seconds:
            found.slept.append(round(seconds, 3))

    found.sleep = sleep
    monkeypatch.setattr("strategy_app.widgets.chart.time", found)
    monkeypatch.setattr("strategy_app.widgets.chart.PAINT_S", 0.3)
    return found


def test_the_first_chart_of_a_visit_waits_for_the_first_sentence_and_later_ones_do_not(
    clock: SimpleNamespace,
) -> None:
    at = AppTest.from_function(_page, default_timeout=MAX_WAIT_S)
    at.query_params["charts"] = "yes"
    at.run()
    assert clock.slept == [0.3]
    at.run()
    assert clock.slept == [0.3]


def test_what_is_no_chart_does_not_wait(clock: SimpleNamespace) -> None:
    at = AppTest.from_function(_page, default_timeout=MAX_WAIT_S)
    at.run()
    assert [item.value for item in at.markdown] == ["Its evidence."]
    assert clock.slept == []
