"""Step by step: how long each took, and where the loss went. Segments are drawn apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from strategy_app.charts.base import alpha, figure, fit_steps, label, mark_moment
from strategy_profiles.reporting import units
from strategy_profiles.reporting.downsample import Envelope, envelope, usual_distance
from strategy_profiles.reporting.palette import GREY, SERIES_COLOUR
from strategy_profiles.tables.columns import Floats

EACH = "each step"
POINTS = 800
"""Points of a line, at most: a chart is some 1,500 pixels wide."""
MAX_ABOVE = 60
NARROW_PX = 330
"""Width of a chart on a phone: titles that fit there do not overlap anywhere."""
LINE_PX = 20
LEGEND_PX = 47
"""Of a legend that names a range, which is higher than one of lines."""
LETTER_PX = 6.2
"""Width of a letter of a segment's title, about."""


@dataclass(frozen=True, slots=True)
class SegmentMark:
    """A segment: its first step, and its title and number on the chart."""

    first_step: int
    title: str
    number: int


def step_time(step: Floats, wall_ms: Floats, segments: Sequence[SegmentMark]) -> go.Figure:
    """Wall time (ms): each step, or of many the median line and the range of each bucket."""
    chart = figure(x_title="step", y_title="step time, ms", height=300)
    drawn = [_part(step, wall_ms, part) for part in _parts(step, segments)]
    top = readable_top([band.high for band in drawn])
    for index, band in enumerate(drawn):
        # A line to a point above the axis would seem to rise at its neighbour.
        median = np.where(band.median > top, np.nan, band.median)
        _add_band(chart, replace(band, median=median), first=index == 0)
    above = wall_ms > top
    _mark_segments(chart, segments, step)
    chart.update_yaxes(range=[0, top])
    _fit_steps(chart, step)
    # A line alone needs no legend, and on a phone it would lie under what is said above.
    chart.update_layout(showlegend=any(trace.name != EACH for trace in chart.data))
    if above.any():
        _mark_above(chart, step[above], wall_ms[above], top)
        num = int(above.sum())
        _say_above(chart, num, step[above], wall_ms[above], has_titles=len(segments) > 1)
    _leave_space(chart, len(segments) > 1, bool(above.any()))
    return chart


def loss(step: Floats, values: Floats, segments: Sequence[SegmentMark]) -> go.Figure:
    """Loss by step: the median line with its range, across segments without a break."""
    chart = figure(x_title="step", y_title="loss", height=300)
    known = np.isfinite(values)
    at = step[known]
    band = envelope(at, values[known], max_points=POINTS, bridge=usual_distance(at))
    _add_band(chart, band, first=True, unit="")
    _mark_segments(chart, segments, step)
    _fit_steps(chart, step)
    chart.update_layout(showlegend=len(chart.data) > 1)  # a line alone needs none
    _leave_space(chart, len(segments) > 1)
    return chart


def _fit_steps(chart: go.Figure, step: Floats) -> None:
    """The axis ends with the steps: a segment's long title would widen it."""
    if step.size:
        room = max(float(step[-1] - step[0]) * 0.01, 0.5)
        chart.update_xaxes(range=[float(step[0]) - room, float(step[-1]) + room])
        fit_steps(chart, float(step[0]), float(step[-1]))


def _parts(step: Floats, segments: Sequence[SegmentMark]) -> list[slice]:
    starts = [int(np.searchsorted(step, mark.first_step)) for mark in segments] or [0]
    bounds = [*starts, step.size]
    bounds[0] = 0
    return [slice(a, b) for a, b in pairwise(bounds) if b > a]


def _part(step: Floats, values: Floats, part: slice) -> Envelope:
    return envelope(step[part], values[part], max_points=POINTS, bridge=1)


def _add_band(chart: go.Figure, band: Envelope, *, first: bool, unit: str = " ms") -> None:
    each = band.per_point == 1
    if not each:
        for start, end in _stretches(band):
            x, low, high = band.x[start:end], band.low[start:end], band.high[start:end]
            chart.add_scatter(
                x=np.concatenate([x, x[::-1]]),
                y=np.concatenate([high, low[::-1]]),
                fill="toself",
                fillcolor=alpha(SERIES_COLOUR, 0.22),
                line={"width": 0},
                mode="none",
                hoverinfo="skip",
                name=f"range of {band.per_point} steps",
                legendgroup="band",
                showlegend=first and start == 0,
            )
    chart.add_scatter(
        x=band.x,
        y=band.median,
        mode="lines" if band.x.size > 1 else "markers",
        line={"color": SERIES_COLOUR, "width": 2},
        name=EACH if each else f"median of {band.per_point} steps",
        legendgroup="line",
        showlegend=first,
        hovertemplate=f"step %{{x:.0f}}: %{{y:.4~g}}{unit}<extra></extra>",
    )


def _stretches(band: Envelope) -> list[tuple[int, int]]:
    """The parts of a line between its gaps."""
    gaps = [-1, *np.flatnonzero(np.isnan(band.low)).tolist(), len(band.x)]
    return [(a + 1, b) for a, b in pairwise(gaps) if b > a + 1]


def readable_top(step_times: Sequence[Floats]) -> float:
    """The top of the axis: one slow first step must not flatten all the others."""
    # The first step of a segment is traced: several short segments would set the axis by it.
    settled = [high[1:] if high.size > 1 else high for high in step_times]
    highs = np.concatenate([high[np.isfinite(high)] for high in settled] or [np.empty(0)])
    if not highs.size:
        return 1.25
    usual = float(np.percentile(highs, 98)) * 1.25
    return max(usual, float(highs[highs < usual * 2.5].max(initial=0.0)) * 1.05)


def _mark_above(chart: go.Figure, step: Floats, wall_ms: Floats, top: float) -> None:
    """An arrow at the top edge for each of the slowest steps that the axis leaves out."""
    slowest = np.sort(np.argsort(wall_ms)[-MAX_ABOVE:])
    chart.add_scatter(
        x=step[slowest],
        y=np.full(slowest.size, top),
        mode="markers",
        marker={"color": SERIES_COLOUR, "size": 9, "symbol": "triangle-up"},
        cliponaxis=False,
        name="above the axis",
        showlegend=False,
        customdata=wall_ms[slowest],
        hovertemplate="step %{x:.0f}: %{customdata:,.0f} ms<extra></extra>",
    )


def _length(wall_ms: float) -> str:
    return f"{wall_ms:,.0f} ms" if wall_ms >= 100 else units.milliseconds(wall_ms)


def _leave_space(chart: go.Figure, *lines: bool) -> None:
    """Make the margin above the axes as high as its lines of text: the legend and `lines`."""
    num = sum(map(bool, (chart.layout.showlegend, *lines)))
    if num:
        first = LEGEND_PX if chart.layout.showlegend else chart.layout.margin.t
        chart.update_layout(margin_t=first + LINE_PX * (num - 1))


def _say_above(
    chart: go.Figure, num: int, step: Floats, wall_ms: Floats, *, has_titles: bool
) -> None:
    """In words, above the titles of segments and below the legend."""
    slowest = int(np.argmax(wall_ms))
    what = "1 step is" if num == 1 else f"{num} steps are"
    chart.add_annotation(
        # On the left: Plotly's buttons appear in the upper right corner.
        x=0,
        y=1.02,
        xref="paper",
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        yshift=LINE_PX if has_titles else 0,
        text=f"{what} above the axis; step {step[slowest]:.0f} took {_length(wall_ms[slowest])}",
        showarrow=False,
        font={"size": 12},
    )


def _mark_segments(chart: go.Figure, segments: Sequence[SegmentMark], step: Floats) -> None:
    """A line where each segment begins; its title, or less if the next one is near."""
    if len(segments) < 2 or not step.size:
        return
    px_per_step = NARROW_PX / max(1.0, float(step[-1] - step[0]))
    ends = [*(mark.first_step for mark in segments[1:]), float(step[-1])]
    for mark, end in zip(segments, ends, strict=True):
        room = (end - mark.first_step) * px_per_step / LETTER_PX
        title = label(mark.title, 44)
        texts = title, f"segment {mark.number}", str(mark.number)
        text = next((text for text in texts if len(text) <= room), "")
        mark_moment(chart, mark.first_step, text, GREY, hover=title)
