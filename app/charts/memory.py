"""Memory over the run, of many devices as a band with the highest on top; and over one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from strategy_lab.app.charts.base import alpha, figure, fit_steps, label
from strategy_lab.profiles.analysis.memory_spread import FEW, memory_spread
from strategy_lab.profiles.reporting.downsample import envelope
from strategy_lab.profiles.reporting.palette import (
    DEVICE_COLOURS,
    GREY,
    SERIES_COLOUR,
    device_colour,
)
from strategy_lab.profiles.tables.columns import Floats

POINTS = 800
Lines = Mapping[str, tuple[Floats, Floats]]


def memory(lines: Lines) -> go.Figure:
    """`lines[name] = (step, bytes in use)`; more than `FEW` lines are drawn as their spread."""
    chart = figure(
        x_title="step", y_title="in use", height=260, showlegend=True, hovermode="x unified"
    )
    if len(lines) > FEW:
        _add_spread(chart, lines)
    else:
        for number, (name, (step, used)) in enumerate(lines.items()):
            colour = device_colour(number) if len(lines) > 1 else SERIES_COLOUR
            _add_line(chart, name, step, used, colour)
    steps = [step for step, _ in lines.values() if step.size]
    if steps:
        fit_steps(chart, min(step.min() for step in steps), max(step.max() for step in steps))
    chart.update_yaxes(tickformat="~s", ticksuffix="B", rangemode="tozero")
    return chart


def memory_over_step(
    lines: Mapping[int, tuple[str, Sequence[float], Sequence[int]]],
) -> go.Figure:
    """Draw `(name, ms from the step's start, bytes held from then on)` of devices, by position."""
    chart = figure(
        x_title="ms into the step", y_title="held", height=260, showlegend=True, hovermode="x"
    )
    for number, (name, at_ms, held) in lines.items():
        colour = device_colour(number) if len(lines) > 1 else SERIES_COLOUR
        _add_scatter(chart, list(at_ms), list(held), colour, name=name, shape="hv")
    chart.update_yaxes(tickformat="~s", ticksuffix="B", rangemode="tozero")
    return chart


def _add_spread(chart: go.Figure, lines: Lines) -> None:
    """Add the range of all lines as a band with its median, and each line far above it."""
    spread = memory_spread(list(lines.values()))
    low, high = (
        envelope(spread.step, edge, max_points=POINTS) for edge in (spread.low, spread.high)
    )
    chart.add_scatter(
        x=[*high.x, *low.x[::-1]],
        y=[*high.high, *low.low[::-1]],
        fill="toself",
        fillcolor=alpha(GREY, 0.3),
        line={"width": 0},
        hoverinfo="skip",
        name=f"lowest to highest of {len(lines)}",
    )
    for name, edge in (("highest", high.high), ("lowest", low.low)):
        # Told on hover alone: on the chart they are the band's edges.
        _add_line(chart, name, high.x, edge, alpha(GREY, 0), legend=False)
    _add_line(chart, f"median of {len(lines)}", spread.step, spread.middle, GREY)
    if spread.outstanding is not None:
        name = list(lines)[spread.outstanding]
        _add_line(chart, name, *lines[name], device_colour(spread.outstanding))


def _add_line(
    chart: go.Figure,
    name: str,
    step: Floats,
    used: Floats,
    colour: str,
    *,
    legend: bool = True,
) -> None:
    # In the order of the samples: where a run went back to a checkpoint, the line breaks.
    band = envelope(step, used, max_points=POINTS)
    _add_scatter(chart, band.x, band.high, colour, name=name, legend=legend)


def _add_scatter(
    chart: go.Figure,
    x: Sequence[float] | Floats,
    y: Sequence[float] | Floats,
    colour: str,
    *,
    name: str,
    legend: bool = True,
    shape: str = "linear",
) -> None:
    """A line; that of a device is outlined, for its colour may be as dark or light as the page."""
    if colour in DEVICE_COLOURS:
        line = {"color": GREY, "width": 4, "shape": shape}
        chart.add_scatter(x=x, y=y, mode="lines", line=line, showlegend=False, hoverinfo="skip")
    chart.add_scatter(
        x=x,
        y=y,
        mode="lines" if len(x) > 1 else "markers",
        name=label(name, 40),
        line={"color": colour, "width": 2, "shape": shape},
        showlegend=legend,
        hovertemplate="%{y:.3s}B",
    )
