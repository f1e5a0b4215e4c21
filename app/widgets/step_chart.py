"""A chart over the steps of a run: a click on a point shows that step on the timeline.

`?step=N` in the page's address marks that step: this is the way back.
"""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from strategy_lab.app.charts.base import mark_moment
from strategy_lab.app.widgets.links import open_step
from strategy_lab.app.widgets.opened import OpenRun
from strategy_lab.profiles.reporting.palette import GREY

HINT = "A click on a point shows the step on the timeline."


def has_timeline(opened: OpenRun) -> bool:
    """Whether the timeline has spans: from captures, or from the timestamps of a cluster."""
    profile = opened.profile
    return bool(profile.files.get("spans")) or len(profile.clocks.workers) > 1


def step_chart(opened: OpenRun, chart: go.Figure, *, key: str, alt: str) -> None:
    """Draw a chart whose horizontal axis is the step."""
    asked = st.query_params.get("step", "")
    if asked.isdecimal():
        mark_moment(chart, int(asked), f"step {asked}", GREY, y=0.9)
    if not has_timeline(opened):
        st.plotly_chart(chart, key=key, alt=alt)
        return
    # Plotly selects markers only, not points of a line: these cannot be seen.
    chart.for_each_trace(
        lambda line: line.update(mode="lines+markers", marker={"opacity": 0, "size": 10}),
        selector={"mode": "lines"},
    )
    state = st.plotly_chart(chart, key=key, alt=alt, on_select="rerun", selection_mode="points")
    for point in state.selection.points[:1]:
        open_step("timeline", opened.profile.path.name, round(point["x"]))
