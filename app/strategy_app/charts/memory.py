"""Memory over the run, of many devices as a band with the highest on top."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from strategy_app.charts.base import alpha, fit_steps
from strategy_app.charts.lines import DrawnLine, add_lines, bytes_figure
from strategy_profiles.analysis.memory_spread import FEW, memory_spread
from strategy_profiles.reporting.downsample import envelope
from strategy_profiles.reporting.palette import GREY, device_colour, device_colours
from strategy_profiles.tables.columns import Floats

POINTS = 200
"""Of a line, two for each place on the axis: a browser draws a point for clicks at each place, of
up to four lines, and the chart has two fifths of the page."""
Lines = Mapping[str, tuple[Floats, Floats]]


def memory(lines: Lines) -> go.Figure:
    """`lines[name] = (step, bytes in use)`; more than `FEW` lines are drawn as their spread."""
    chart = bytes_figure("step", "in use", hovermode="x unified")
    if len(lines) > FEW:
        _add_spread(chart, lines)
    else:
        of_device = zip(device_colours(range(len(lines))), lines.items(), strict=True)
        add_lines(chart, [_line(name, *line, colour) for colour, (name, line) in of_device])
    steps = [step for step, _ in lines.values() if step.size]
    if steps:
        fit_steps(chart, min(step.min() for step in steps), max(step.max() for step in steps))
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
    add_lines(chart, [*edges, middle])
    add_lines(chart, above)


def _line(
    name: str, step: Floats, used: Floats, colour: str, *, in_legend: bool = True
) -> DrawnLine:
    # In the order of the samples: where a run went back to a checkpoint, the line breaks.
    band = envelope(step, used, max_points=POINTS)
    return DrawnLine(name, band.x, band.high, colour, in_legend)
