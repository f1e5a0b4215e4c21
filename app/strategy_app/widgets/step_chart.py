"""A chart over the steps of a run: a click on a point shows that step on the timeline.

`?step=N` in the page's address marks that step: this is the way back.
"""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go
import streamlit as st

from strategy_app.charts.base import mark_moment
from strategy_app.components.chart import Click
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.links import open_page
from strategy_profiles.reporting.palette import GREY

HINT = "A click on a point shows the step on the timeline."
RUNS_HINT = "A click on a point shows that step of its run on the timeline."
NO_TIMELINE = "This run has no timeline: none of its steps was captured."


def has_timeline(opened: OpenRun) -> bool:
    """Whether the timeline has spans: from captures, or from the timestamps of a cluster."""
    profile = opened.profile
    return bool(profile.files.get("spans")) or len(profile.clocks.workers) > 1


def runs_chart(opened: Mapping[str, OpenRun], chart: go.Figure, *, key: str, alt: str) -> None:
    """Draw a chart with a line of steps per run: a click on a point opens that step of that run.

    The `customdata` of a point is its step as the run counts it, where that is not on the axis.

    Args:
      opened: the run of each line, in the order of the lines.
    """
    runs = list(opened.values())
    if not any(map(has_timeline, runs)):
        draw_chart(chart, key=key, alt=alt)
        return
    if click := draw_chart(chart, key=key, alt=alt, has_clicks=True):
        run = runs[click.curve]
        if has_timeline(run):
            open_page("timeline", run.profile.path.name, round(_step_of(click)))
        else:
            st.caption(NO_TIMELINE)
    st.caption(RUNS_HINT)


def _step_of(click: Click) -> float:
    own = click.customdata
    if isinstance(own, list | dict):
        own = next(iter(own.values() if isinstance(own, dict) else own), None)
    return float(click.x if own is None else own)


def step_chart(opened: OpenRun, chart: go.Figure, *, key: str, alt: str) -> None:
    """Draw a chart whose horizontal axis is the step."""
    marked = st.query_params.get("step", "")
    if marked.isdecimal():
        mark_moment(chart, int(marked), f"step {marked}", GREY, y=0.9)
    if not has_timeline(opened):
        draw_chart(chart, key=key, alt=alt)
        return
    if click := draw_chart(chart, key=key, alt=alt, has_clicks=True):
        open_page("timeline", opened.profile.path.name, round(click.x))
