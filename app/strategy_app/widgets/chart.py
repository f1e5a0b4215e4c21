"""Draws every Plotly chart of the pages: each has a text for screen readers, and waits its turn.

Once the first chart of a visit is there, the browser starts the library that draws charts and
draws, and paints nothing meanwhile. So the first sentence of a visit has a head start over charts.
Number tiles, findings and tables do not wait.
"""

from __future__ import annotations

import time
from typing import Any

import plotly.graph_objects as go
import streamlit as st

PAINT_S = 0.3
"""Head start of a visit's first sentence over its first chart (docs/decisions/first-paint.md)."""
_FIRST_SENTENCE = "first_sentence_at"


def note_first_sentence() -> None:
    """Call after a page has sent its sentence: charts wait for the first one of a visit."""
    st.session_state.setdefault(_FIRST_SENTENCE, time.monotonic())


def draw_chart(chart: go.Figure, *, key: str, alt: str, **options: Any) -> Any:
    """Draw a chart.

    Args:
      alt: what the chart shows, for those who cannot see it.
      options: those of `st.plotly_chart`, such as `on_select`.

    Returns:
      What `st.plotly_chart` returns.
    """
    sent = st.session_state.get(_FIRST_SENTENCE)
    if sent is not None:
        time.sleep(max(0.0, sent + PAINT_S - time.monotonic()))
    return st.plotly_chart(chart, key=key, alt=alt, **options)
