"""Lines over one axis, as an answer has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from strategy_app.charts.base import CLEAR, FEW_STEPS, alpha, figure, fit_steps, label, mark_moment
from strategy_profiles.answers.answer import Line, Lines, Numbers
from strategy_profiles.reporting.downsample import Envelope, envelope
from strategy_profiles.reporting.palette import DEVICE_COLOURS, GREY

LEGEND_PX = 42
"""Of one row of lines."""
BYTES_PX = 90
"""Left margin for ticks such as `800MB` and their title."""
BACK = 0.88
"""Height of the words at every second mark, so that neighbours do not cover each other."""
POINTS = 800
"""Points of all lines of a chart over steps, at most: it is some 1,500 pixels wide, and a browser
draws a point for clicks at each of them."""
_HOVER = {"bytes": "%{y:.3s}B", "count": "%{y:,}"}


def lines(part: Lines) -> go.Figure:
    """Draw the lines of an answer; over the steps of a run, what is highest at each point."""
    is_bytes = part.unit == "bytes"
    chart = figure(
        x_title=part.x_title,
        y_title=part.y_title,
        height=260,
        left_px=BYTES_PX if is_bytes else None,
        top_px=LEGEND_PX,
        showlegend=True,
        hovermode="x unified" if part.is_of_run else "x",
    )
    ticks = {"tickformat": "~s", "ticksuffix": "B"} if is_bytes else {}
    chart.update_yaxes(rangemode="tozero", **ticks)
    hover = _HOVER.get(part.unit, f"%{{y:.3~g}} {part.y_title}")
    for line in part.lines:
        if len(line.low):
            _add_edges(chart, line, part, hover)
    _add_lines(chart, part, "hv" if part.is_stepped else "linear", hover)
    for number, (at, what) in enumerate(part.marks):
        mark_moment(chart, at, label(what, 30), GREY, y=BACK if number % 2 else None)
    if part.unit == "count":
        # Plotly would mark halves on a short axis, and write them as whole numbers.
        most = max((max(line.y, default=0) for line in part.lines), default=0)
        chart.update_yaxes(dtick=1 if most < FEW_STEPS else None, tickformat="d")
    if part.is_of_run:
        every = np.concatenate([line.x for line in part.lines])
        fit_steps(chart, every.min(), every.max())
    return chart


def drawn(part: Lines, line: Line, values: Numbers) -> Envelope:
    """Return the points that are drawn of the values of a line over steps."""
    points = POINTS // len(part.lines)
    return envelope(line.x, values, max_points=points, bridge=part.bridge)


def add_band(
    chart: go.Figure, x: Numbers, low: Numbers, high: Numbers, fill: str, **options: Any
) -> None:
    """Add a band between two lines."""
    chart.add_scatter(
        x=[*x, *x[::-1]],
        y=[*high, *low[::-1]],
        fill="toself",
        fillcolor=fill,
        line={"width": 0},
        mode="none",
        hoverinfo="skip",
        **options,
    )


def _add_edges(chart: go.Figure, line: Line, part: Lines, hover: str) -> None:
    """Add the band of a line; its edges are named at the pointer alone."""
    low, high = drawn(part, line, line.low), drawn(part, line, line.high)
    add_band(chart, high.x, low.low, high.high, alpha(line.colour, 0.3), name="lowest to highest")
    for name, values in (("highest", high.high), ("lowest", low.low)):
        chart.add_scatter(
            x=high.x,
            y=values,
            mode="lines",
            name=name,
            line={"color": CLEAR},
            showlegend=False,
            hovertemplate=hover,
        )


def _add_lines(chart: go.Figure, part: Lines, shape: str, hover: str) -> None:
    """Lines above their outlines: a device's colour may be as dark or as light as the page."""
    curves = [
        (line, (points.x, points.high))
        if part.is_of_run and (points := drawn(part, line, line.y))
        else (line, (line.x, line.y))
        for line in part.lines
    ]
    outlined = [curve for line, curve in curves if line.colour in DEVICE_COLOURS]
    if outlined:
        # One trace: the browser needs as long for an outline of its own as for a line.
        chart.add_scatter(
            x=[at for x, _ in outlined for at in (*x, None)],
            y=[value for _, y in outlined for value in (*y, None)],
            mode="lines",
            line={"color": GREY, "width": 4, "shape": shape},
            showlegend=False,
            hoverinfo="skip",
        )
    for line, (x, y) in curves:
        chart.add_scatter(
            x=x,
            y=y,
            mode="lines" if len(x) > 1 else "markers",
            name=label(line.name, 40),
            line={"color": line.colour, "width": 2, "shape": shape},
            hovertemplate=hover,
        )
