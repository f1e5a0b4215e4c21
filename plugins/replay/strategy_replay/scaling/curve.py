"""The step by the number of replicas: measured points, the prediction with its band, the ideal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from strategy_app.charts.base import alpha, figure
from strategy_profiles.reporting.palette import GREY, SERIES_COLOUR
from strategy_replay.scaling.predicting import ScaledStep, ScalingPrediction

_FONT = 15


def throughput_curve(predicted: ScalingPrediction) -> go.Figure:
    """Examples per second over replicas, both logarithmic: ideal scaling is a straight line."""
    chart = figure(height=420, x_title="replicas", y_title="examples per second")
    text = {"tickfont": {"size": _FONT}, "title_font": {"size": _FONT}}
    rows = predicted.rows
    _add_band(chart, predicted)
    # The line runs on from the last measured point.
    checked = [item for item in rows if item.basis != "on paper"]
    beyond = [*checked[-1:], *(item for item in rows if item.basis == "on paper")]
    _add_line(chart, checked, "predicted", "solid")
    if len(beyond) > 1:
        _add_line(chart, beyond, "arithmetic on paper", "dash")
    _add_ideal(chart, rows)
    if predicted.measured:
        chart.add_scatter(
            x=[item.num_replicas for item in predicted.measured],
            y=[item.examples_per_second_at_median for item in predicted.measured],
            mode="markers",
            name="measured",
            marker={"size": 13, "color": SERIES_COLOUR, "line": {"color": GREY, "width": 1}},
            hovertemplate="%{x} replicas: %{y:,.0f} examples/s, measured<extra></extra>",
        )
    numbers = [item.num_replicas for item in rows]
    room = 0.06 * max(math.log10(numbers[-1] / numbers[0]), 0.5)
    ends = [math.log10(numbers[0]) - room, math.log10(numbers[-1]) + room]
    ticks = [f"{each:,}" for each in numbers]
    chart.update_xaxes(type="log", tickvals=numbers, ticktext=ticks, range=ends, **text)
    chart.update_yaxes(type="log", tickvals=_ticks(chart), tickformat=",.1r", **text)
    chart.update_layout(legend_font={"size": _FONT})
    return chart


def _ticks(chart: go.Figure) -> list[float]:
    """Powers of ten across all that is drawn; with 2 and 5 times these if they are few."""
    drawn = [float(y) for trace in chart.data for y in trace.y if y and y > 0]
    decades = range(math.floor(math.log10(min(drawn))), math.ceil(math.log10(max(drawn))) + 1)
    digits = (1, 2, 5) if len(decades) <= 4 else (1,)
    return [digit * 10.0**power for power in decades for digit in digits]


def _add_band(chart: go.Figure, predicted: ScalingPrediction) -> None:
    """Between the throughput of the longest and the shortest step; measured points have none."""
    points = [
        (item, item.low_ms or item.step_ms, item.high_ms or item.step_ms) for item in predicted.rows
    ]
    numbers = [item.num_replicas for item, *_ in points]
    batch = predicted.batch_per_replica
    least = [batch * item.num_replicas / high * 1e3 for item, _, high in points]
    most = [batch * item.num_replicas / low * 1e3 for item, low, _ in points]
    chart.add_scatter(
        x=[*numbers, *reversed(numbers)],
        y=[*most, *reversed(least)],
        mode="lines",
        fill="toself",
        fillcolor=alpha(SERIES_COLOUR, 0.2),
        line={"width": 0},
        name="interval",
        hoverinfo="skip",
    )


def _add_line(chart: go.Figure, rows: Sequence[ScaledStep], name: str, dash: str) -> None:
    chart.add_scatter(
        x=[item.num_replicas for item in rows],
        y=[item.examples_per_second_at_median for item in rows],
        mode="lines",
        name=name,
        line={"color": SERIES_COLOUR, "width": 3, "dash": dash},
        customdata=[item.step_ms for item in rows],
        hovertemplate="%{x} replicas: %{y:,.0f} examples/s, step %{customdata:,.1f} ms, "
        f"{name}<extra></extra>",
    )


def _add_ideal(chart: go.Figure, rows: Sequence[ScaledStep]) -> None:
    """N times the throughput of one replica, or that of each on the fewest that are known."""
    first = rows[0]
    each = first.examples_per_second_at_median / first.num_replicas / (first.efficiency or 1.0)
    chart.add_scatter(
        x=[item.num_replicas for item in rows],
        y=[each * item.num_replicas for item in rows],
        mode="lines",
        name="ideal",
        line={"color": GREY, "width": 2, "dash": "dot"},
        hoverinfo="skip",
    )
