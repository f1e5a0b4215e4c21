"""Lines over one axis: those of an answer, and those of memory over a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from strategy_app.charts.base import FEW_STEPS, figure, label, mark_moment
from strategy_profiles.answers.answer import Lines
from strategy_profiles.reporting.palette import DEVICE_COLOURS, GREY
from strategy_profiles.tables.columns import Floats

LEGEND_PX = 42
"""Of one row of lines."""
BYTES_PX = 90
"""Left margin for ticks such as `800MB` and their title."""
BACK = 0.88
"""Height of the words at every second mark, so that neighbours do not cover each other."""
_HOVER = {"bytes": "%{y:.3s}B", "count": "%{y:,}"}


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A line of a chart."""

    name: str
    x: Sequence[float] | Floats
    y: Sequence[float] | Floats
    colour: str
    in_legend: bool = True


def lines(part: Lines) -> go.Figure:
    """Draw the lines of an answer."""
    is_bytes = part.unit == "bytes"
    draw = bytes_figure if is_bytes else _figure
    chart = draw(part.x_title, part.y_title, hovermode="x")
    drawn = [DrawnLine(line.name, line.x, line.y, line.colour) for line in part.lines]
    hover = _HOVER.get(part.unit, f"%{{y:.3~g}} {part.y_title}")
    add_lines(chart, drawn, "hv" if part.is_stepped else "linear", hover)
    for number, (at, what) in enumerate(part.marks):
        mark_moment(chart, at, label(what, 30), GREY, y=BACK if number % 2 else None)
    most = max((max(line.y, default=0) for line in part.lines), default=0)
    if part.unit == "count":
        # Plotly would mark halves on a short axis, and write them as whole numbers.
        chart.update_yaxes(dtick=1 if most < FEW_STEPS else None, tickformat="d")
    return chart


def bytes_figure(x_title: str, y_title: str, *, hovermode: str) -> go.Figure:
    """Return a chart whose `y` are bytes."""
    chart = _figure(x_title, y_title, hovermode=hovermode, left_px=BYTES_PX)
    chart.update_yaxes(tickformat="~s", ticksuffix="B")
    return chart


def _figure(x_title: str, y_title: str, *, hovermode: str, left_px: int | None = None) -> go.Figure:
    chart = figure(
        x_title=x_title,
        y_title=y_title,
        height=260,
        left_px=left_px,
        top_px=LEGEND_PX,
        showlegend=True,
        hovermode=hovermode,
    )
    chart.update_yaxes(rangemode="tozero")
    return chart


def add_lines(
    chart: go.Figure,
    lines: Sequence[DrawnLine],
    shape: str = "linear",
    hover: str = _HOVER["bytes"],
) -> None:
    """Lines above their outlines: a device's colour may be as dark or as light as the page."""
    outlined = [line for line in lines if line.colour in DEVICE_COLOURS]
    if outlined:
        # One trace: the browser needs as long for an outline of its own as for a line.
        chart.add_scatter(
            x=[x for line in outlined for x in (*line.x, None)],
            y=[y for line in outlined for y in (*line.y, None)],
            mode="lines",
            line={"color": GREY, "width": 4, "shape": shape},
            showlegend=False,
            hoverinfo="skip",
        )
    for line in lines:
        chart.add_scatter(
            x=line.x,
            y=line.y,
            mode="lines" if len(line.x) > 1 else "markers",
            name=label(line.name, 40),
            line={"color": line.colour, "width": 2, "shape": shape},
            showlegend=line.in_legend,
            hovertemplate=hover,
        )
