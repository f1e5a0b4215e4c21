"""Step by step: how long each took, and where the loss went. Segments are drawn apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from strategy_lab.app.charts import thin
from strategy_lab.app.charts.base import ACCENT, INK, WARN, alpha, figure, label, mark_moment

EACH = "each step"
MAX_ABOVE = 60


@dataclass(frozen=True, slots=True)
class SegmentMark:
    """The first step of a segment, and its title on the chart."""

    first_step: int
    title: str


def step_time(step: thin.Array, wall_ms: thin.Array, segments: Sequence[SegmentMark]) -> go.Figure:
    """Wall time of each step (ms): the median line, its 10 to 90 % band, slow steps as points."""
    chart = figure(x_title="step", y_title="step time, ms", height=300)
    drawn = [_part(step, wall_ms, part) for part in _parts(step, segments)]
    top = _readable_top(drawn)
    for index, band in enumerate(drawn):
        # A line to a point above the axis would seem to rise at its neighbour.
        median = np.where(band.median > top, np.nan, band.median)
        _add_band(chart, replace(band, median=median), first=index == 0)
    odd_x = np.concatenate([band.odd_x for band in drawn]) if drawn else np.empty(0)
    odd_y = np.concatenate([band.odd_y for band in drawn]) if drawn else np.empty(0)
    above = wall_ms > top
    odd_x, odd_y = odd_x[odd_y <= top], odd_y[odd_y <= top]
    if odd_x.size:
        chart.add_scatter(
            x=odd_x,
            y=odd_y,
            mode="markers",
            name="slow step",
            marker={"color": WARN, "size": 6, "symbol": "circle-open"},
            hovertemplate="step %{x:.0f}: %{y:.4~g} ms<extra></extra>",
        )
    _mark_segments(chart, segments)
    chart.update_yaxes(range=[0, top])
    _fit_steps(chart, step)
    # A line alone needs no legend, and on a phone it would lie under what is said above.
    chart.update_layout(showlegend=any(trace.name != EACH for trace in chart.data))
    if above.any():
        _mark_above(chart, step[above], wall_ms[above], top)
        _say_above(chart, int(above.sum()), step[above], wall_ms[above])
    return chart


def loss(step: thin.Array, values: thin.Array, segments: Sequence[SegmentMark]) -> go.Figure:
    """Loss by step: the median line with its 10 to 90 % band, across segments without a break."""
    chart = figure(x_title="step", y_title="loss", height=300)
    band = thin.band(step, values)
    _add_band(chart, band, first=True, unit="")
    _mark_segments(chart, segments)
    _fit_steps(chart, step)
    chart.update_layout(showlegend=len(chart.data) > 1)  # a line alone needs none
    return chart


def _fit_steps(chart: go.Figure, step: thin.Array) -> None:
    """The axis ends with the steps: a segment's long title would widen it."""
    if step.size:
        room = max(float(step[-1] - step[0]) * 0.01, 0.5)
        chart.update_xaxes(range=[float(step[0]) - room, float(step[-1]) + room])


def _parts(step: thin.Array, segments: Sequence[SegmentMark]) -> list[slice]:
    starts = [int(np.searchsorted(step, mark.first_step)) for mark in segments] or [0]
    bounds = [*starts, step.size]
    bounds[0] = 0
    return [slice(a, b) for a, b in pairwise(bounds) if b > a]


def _part(step: thin.Array, values: thin.Array, part: slice) -> thin.Band:
    return thin.band(step[part], values[part])


def _add_band(chart: go.Figure, band: thin.Band, *, first: bool, unit: str = " ms") -> None:
    if not np.array_equal(band.low, band.high):
        chart.add_scatter(
            x=np.concatenate([band.x, band.x[::-1]]),
            y=np.concatenate([band.high, band.low[::-1]]),
            fill="toself",
            fillcolor=alpha(ACCENT, 0.22),
            line={"width": 0},
            hoverinfo="skip",
            name="10 to 90 % of neighbouring steps",
            legendgroup="band",
            showlegend=first,
        )
    chart.add_scatter(
        x=band.x,
        y=band.median,
        mode="lines" if band.x.size > 1 else "markers",
        line={"color": ACCENT, "width": 2},
        name="median" if not np.array_equal(band.low, band.high) else EACH,
        legendgroup="line",
        showlegend=first,
        hovertemplate=f"step %{{x:.0f}}: %{{y:.4~g}}{unit}<extra></extra>",
    )


def _readable_top(bands: Sequence[thin.Band]) -> float:
    """The top of the axis: one slow first step must not flatten all the others."""
    # The first step of a segment is traced: several short segments would set the axis by it.
    settled = [band.high[1:] if band.high.size > 1 else band.high for band in bands]
    highs = np.concatenate([high for high in settled if high.size] or [np.ones(1)])
    odd = np.concatenate([band.odd_y for band in bands]) if bands else np.empty(0)
    usual = float(np.percentile(highs, 98)) * 1.25
    near = odd[odd < usual * 2.5]
    return max(usual, float(near.max()) * 1.05 if near.size else 0.0)


def _mark_above(chart: go.Figure, step: thin.Array, wall_ms: thin.Array, top: float) -> None:
    """An arrow at the top edge for each of the slowest steps that the axis leaves out."""
    slowest = np.sort(np.argsort(wall_ms)[-MAX_ABOVE:])
    chart.add_scatter(
        x=step[slowest],
        y=np.full(slowest.size, top),
        mode="markers",
        marker={"color": WARN, "size": 9, "symbol": "triangle-up"},
        cliponaxis=False,
        name="above the axis",
        showlegend=False,
        customdata=wall_ms[slowest],
        hovertemplate="step %{x:.0f}: %{customdata:,.0f} ms<extra></extra>",
    )


def _say_above(chart: go.Figure, num: int, step: thin.Array, wall_ms: thin.Array) -> None:
    slowest = int(np.argmax(wall_ms))
    what = "1 step is" if num == 1 else f"{num} steps are"
    chart.add_annotation(
        x=1,
        y=1.02,
        xref="paper",
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        text=f"{what} above the axis; step {step[slowest]:.0f} took {wall_ms[slowest]:,.0f} ms",
        showarrow=False,
        font={"size": 12, "color": WARN},
    )


def _mark_segments(chart: go.Figure, segments: Sequence[SegmentMark]) -> None:
    if len(segments) < 2:
        return
    for mark in segments:
        mark_moment(chart, mark.first_step, label(mark.title, 44), INK)
