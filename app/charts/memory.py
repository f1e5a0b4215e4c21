"""Memory over the run: a line per device or process; of many a band, and the highest on top."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from strategy_lab.app.charts import thin
from strategy_lab.app.charts.base import INK, WARN, alpha, figure, label
from strategy_lab.profiles.analysis.memory_spread import FEW, memory_spread
from strategy_lab.profiles.reporting.palette import replica_colour

Lines = Mapping[str, tuple[thin.Array, thin.Array]]


def memory(lines: Lines) -> go.Figure:
    """`lines[name] = (step, bytes in use)`."""
    chart = figure(
        x_title="step", y_title="in use", height=260, showlegend=True, hovermode="x unified"
    )
    if len(lines) > FEW:
        _add_spread(chart, lines)
    else:
        for number, (name, (step, used)) in enumerate(lines.items()):
            _add_line(chart, name, step, used, replica_colour(number))
    chart.update_yaxes(tickformat="~s", ticksuffix="B", rangemode="tozero")
    return chart


def _add_spread(chart: go.Figure, lines: Lines) -> None:
    """Add the range of all lines as a band with its median, and each line far above it."""
    spread = memory_spread(list(lines.values()))
    low, high = (thin.band(spread.step, edge) for edge in (spread.low, spread.high))
    chart.add_scatter(
        x=[*high.x, *low.x[::-1]],
        y=[*high.median, *low.median[::-1]],
        fill="toself",
        fillcolor=alpha(INK, 0.3),
        line={"width": 0},
        hoverinfo="skip",
        name=f"lowest to highest of {len(lines)}",
    )
    for name, edge in (("highest", high), ("lowest", low)):
        # Told on hover alone: on the chart they are the band's edges.
        _add_line(chart, name, edge.x, edge.median, alpha(INK, 0), legend=False)
    _add_line(chart, f"median of {len(lines)}", spread.step, spread.middle, INK)
    if spread.outstanding is not None:
        name = list(lines)[spread.outstanding]
        _add_line(chart, name, *lines[name], WARN)


def _add_line(
    chart: go.Figure,
    name: str,
    step: thin.Array,
    used: thin.Array,
    colour: str,
    *,
    legend: bool = True,
) -> None:
    band = thin.band(step, used)
    chart.add_scatter(
        x=band.x,
        y=band.median,
        mode="lines" if band.x.size > 1 else "markers",
        name=label(name, 40),
        line={"color": colour, "width": 2},
        showlegend=legend,
        hovertemplate="%{y:.3s}B",
    )
