"""One line over the steps of a run: how long each took, and where the loss went."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from strategy_app.charts.base import alpha, figure, fit_steps, label, mark_moment
from strategy_app.charts.lines import add_band, drawn
from strategy_profiles.answers.answer import Line, Lines
from strategy_profiles.reporting.downsample import Envelope
from strategy_profiles.reporting.palette import GREY
from strategy_profiles.tables.columns import Floats

EACH = "each step"
MAX_ABOVE = 60
NARROW_PX = 330
"""Width of a chart on a phone: titles that fit there do not overlap anywhere."""
LINE_PX = 20
LEGEND_PX = 47
"""Of a legend that names a range, which is higher than one of lines."""
LETTER_PX = 6.2
"""Width of a letter of a segment's title, about."""


def over_steps(part: Lines) -> go.Figure:
    """Draw each step, or of many the median line and the range of each bucket."""
    chart = figure(x_title=part.x_title, y_title=part.y_title, height=300)
    (line,) = part.lines
    band = drawn(part, line, line.y)
    unit = " ms" if part.unit == "ms" else ""
    _add_range(chart, line, band)
    chart.add_scatter(
        x=band.x,
        # A line to a point above the axis would seem to rise at its neighbour.
        y=band.median
        if part.top is None
        else np.where(band.median > part.top, np.nan, band.median),
        mode="lines" if band.x.size > 1 else "markers",
        line={"color": line.colour, "width": 2},
        name=EACH if band.per_point == 1 else f"median of {band.per_point} steps",
        hovertemplate=f"step %{{x:.0f}}: %{{y:.4~g}}{unit}<extra></extra>",
    )
    x, y = np.asarray(line.x), np.asarray(line.y)
    _mark_segments(chart, part, x.max() - x.min())
    # The axis ends with the steps: a segment's long title would widen it.
    room = max((x.max() - x.min()) * 0.01, 0.5)
    chart.update_xaxes(range=[x.min() - room, x.max() + room])
    fit_steps(chart, x.min(), x.max())
    # A line alone needs no legend.
    chart.update_layout(showlegend=band.per_point > 1)
    if part.top is not None:
        chart.update_yaxes(range=[0, part.top])
        if (above := y > part.top).any():
            _mark_above(chart, line, x[above], y[above], part.top)
    _leave_space(chart)
    return chart


def _add_range(chart: go.Figure, line: Line, band: Envelope) -> None:
    if band.per_point == 1:
        return
    gaps = [-1, *np.flatnonzero(np.isnan(band.low)).tolist(), len(band.x)]
    stretches = [slice(a + 1, b) for a, b in pairwise(gaps) if b > a + 1]
    for number, part in enumerate(stretches):
        add_band(
            chart,
            band.x[part],
            band.low[part],
            band.high[part],
            alpha(line.colour, 0.22),
            name=f"range of {band.per_point} steps",
            legendgroup="band",
            showlegend=number == 0,
        )


def _mark_above(chart: go.Figure, line: Line, step: Floats, value: Floats, top: float) -> None:
    """An arrow at the top edge for each of the slowest steps that the axis leaves out."""
    slowest = np.sort(np.argsort(value)[-MAX_ABOVE:])
    chart.add_scatter(
        x=step[slowest],
        y=np.full(slowest.size, top),
        mode="markers",
        marker={"color": line.colour, "size": 9, "symbol": "triangle-up"},
        cliponaxis=False,
        name="above the axis",
        showlegend=False,
        customdata=value[slowest],
        hovertemplate="step %{x:.0f}: %{customdata:,.0f} ms<extra></extra>",
    )


def _leave_space(chart: go.Figure) -> None:
    """Make the margin above the axes as high as its lines of text: legend and titles."""
    has_legend, has_titles = chart.layout.showlegend, bool(chart.layout.annotations)
    if has_legend or has_titles:
        first = LEGEND_PX if has_legend else chart.layout.margin.t
        chart.update_layout(margin_t=first + LINE_PX * (has_legend and has_titles))


def _mark_segments(chart: go.Figure, part: Lines, num_steps: float) -> None:
    """A line where each segment begins; its title, or less if the next one is near."""
    px_per_step = NARROW_PX / max(1.0, num_steps)
    ends = [*(at for at, _ in part.marks[1:]), float(np.max(part.lines[0].x))]
    for number, ((at, title), end) in enumerate(zip(part.marks, ends, strict=False)):
        room = (end - at) * px_per_step / LETTER_PX
        whole = label(title, 44)
        texts = whole, f"segment {number}", str(number)
        text = next((text for text in texts if len(text) <= room), "")
        mark_moment(chart, at, text, GREY, hover=whole)
