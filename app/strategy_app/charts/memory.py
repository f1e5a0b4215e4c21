"""Memory over the run, of many devices as a band with the highest on top; and over one step."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from strategy_app.charts.base import alpha, figure, fit_steps, label
from strategy_profiles.analysis.memory_spread import FEW, memory_spread
from strategy_profiles.reporting.downsample import envelope
from strategy_profiles.reporting.palette import (
    DEVICE_COLOURS,
    GREY,
    SERIES_COLOUR,
    device_colour,
)
from strategy_profiles.tables.columns import Floats

POINTS = 200
"""Of a line, two for each place on the axis: a browser draws a point for clicks at each place, of
up to four lines, and the chart has two fifths of the page."""
LEGEND_PX = 42
"""Of one row of lines."""
BYTES_PX = 90
"""Left margin for ticks such as `800MB` and their title."""
Lines = Mapping[str, tuple[Floats, Floats]]


def memory(lines: Lines) -> go.Figure:
    """`lines[name] = (step, bytes in use)`; more than `FEW` lines are drawn as their spread."""
    chart = _bytes_figure("step", "in use", hovermode="x unified")
    if len(lines) > FEW:
        _add_spread(chart, lines)
    else:
        of_device = zip(_colours(range(len(lines))), lines.items(), strict=True)
        _add_lines(chart, [_line(name, *line, colour) for colour, (name, line) in of_device])
    steps = [step for step, _ in lines.values() if step.size]
    if steps:
        fit_steps(chart, min(step.min() for step in steps), max(step.max() for step in steps))
    return chart


def memory_over_step(
    lines: Mapping[int, tuple[str, Sequence[float], Sequence[int]]],
) -> go.Figure:
    """Draw `(name, ms from the step's start, bytes held from then on)` of devices, by position."""
    chart = _bytes_figure("ms into the step", "held", hovermode="x")
    of_device = zip(_colours(lines), lines.values(), strict=True)
    drawn = [_Line(name, at_ms, held, colour) for colour, (name, at_ms, held) in of_device]
    _add_lines(chart, drawn, shape="hv")
    return chart


def _bytes_figure(x_title: str, y_title: str, *, hovermode: str) -> go.Figure:
    chart = figure(
        x_title=x_title,
        y_title=y_title,
        height=260,
        left_px=BYTES_PX,
        top_px=LEGEND_PX,
        showlegend=True,
        hovermode=hovermode,
    )
    chart.update_yaxes(tickformat="~s", ticksuffix="B", rangemode="tozero")
    return chart


def _colours(numbers: Collection[int]) -> list[str]:
    """Colours of devices by position; a line that is alone needs none of its own.

    With more devices than colours, two positions have the same one: the second takes a free one.
    """
    if len(numbers) == 1:
        return [SERIES_COLOUR]
    found: list[str] = []
    for number in numbers:
        colour = device_colour(number)
        free = [each for each in DEVICE_COLOURS if each not in found]
        found.append(free[0] if colour in found and free else colour)
    return found


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
    # Told on hover alone: on the chart they are the band's edges.
    edges = [
        _line(name, high.x, edge, alpha(GREY, 0), in_legend=False)
        for name, edge in (("highest", high.high), ("lowest", low.low))
    ]
    middle = _line(f"median of {len(lines)}", spread.step, spread.middle, GREY)
    above = []
    if spread.outstanding is not None:
        name = list(lines)[spread.outstanding]
        above.append(_line(name, *lines[name], device_colour(spread.outstanding)))
    _add_lines(chart, [*edges, middle])
    _add_lines(chart, above)


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    x: Sequence[float] | Floats
    y: Sequence[float] | Floats
    colour: str
    in_legend: bool = True


def _line(name: str, step: Floats, used: Floats, colour: str, *, in_legend: bool = True) -> _Line:
    # In the order of the samples: where a run went back to a checkpoint, the line breaks.
    band = envelope(step, used, max_points=POINTS)
    return _Line(name, band.x, band.high, colour, in_legend)


def _add_lines(chart: go.Figure, lines: Sequence[_Line], shape: str = "linear") -> None:
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
            hovertemplate="%{y:.3s}B",
        )
