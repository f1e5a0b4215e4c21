"""Stacked bars whose legend is text of the page: long names wrap, and take no room from bars."""

from __future__ import annotations

import html

import plotly.graph_objects as go
import streamlit as st

STYLE = """<style>
.lab-legend {display:flex; flex-wrap:wrap; gap:.1rem .9rem; font-size:.8rem}
.lab-legend i {display:inline-block; width:.75rem; height:.75rem; border-radius:2px;
  margin-right:.35rem; vertical-align:-.06rem}
</style>"""


def show_bars(chart: go.Figure, *, key: str, alt: str) -> None:
    """Draw the chart below a legend in HTML, which wraps long names and takes no room from bars.

    The caller has escaped the names of the traces. Each trace has one colour for all its bars.
    """
    entries = "".join(
        f'<span><i style="background:{html.escape(bar.marker.color)}"></i>{bar.name}</span>'
        for bar in chart.data
    )
    st.html(f'{STYLE}<div class="lab-legend">{entries}</div>')
    chart.update_layout(showlegend=False, margin_t=8)
    st.plotly_chart(chart, key=key, alt=alt)
