"""Draws every Plotly chart of the pages: each has a text for screen readers, and waits its turn.

Once the first chart of a visit is there, the browser starts the library that draws charts and
draws, and paints nothing meanwhile. So the first sentence of a visit has a head start over charts.
Number tiles, findings and tables do not wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

from strategy_app.components.chart import Click, chart_view

PAINT_S = 0.3
"""Head start of a visit's first sentence over its first chart (docs/decisions/page.md)."""
_FIRST_SENTENCE = "first_sentence_at"


def note_first_sentence() -> None:
    """Call after a page has sent its sentence: charts wait for the first one of a visit."""
    st.session_state.setdefault(_FIRST_SENTENCE, time.monotonic())


def draw_chart(
    chart: go.Figure,
    *,
    key: str,
    alt: str,
    has_clicks: bool = False,
    on_click: Callable[[Click], None] | None = None,
) -> Click | None:
    """Draw a chart; see `components.chart.chart_view`."""
    sent = st.session_state.get(_FIRST_SENTENCE)
    if sent is not None:
        time.sleep(max(0.0, sent + PAINT_S - time.monotonic()))
    return chart_view(chart, key=key, alt=alt, has_clicks=has_clicks, on_click=on_click)
