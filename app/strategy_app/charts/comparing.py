"""A against B: the ratio with its interval, both spreads of step times, both losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from strategy_app.charts.base import alpha, figure, label
from strategy_profiles.reporting.downsample import envelope, usual_distance
from strategy_profiles.reporting.palette import GREY, SIDE_COLOURS
from strategy_profiles.tables.columns import Floats

POINTS = 800


def ratio_interval(
    ratio: float,
    low: float | None = None,
    high: float | None = None,
    *,
    title: str,
    words: tuple[str, str],
) -> go.Figure:
    """A number of B over A's as a point with its 95 % interval; the line at 1 is no difference.

    `words` are what the number is in B left of that line, and right of it.
    """
    chart = figure(height=130, x_title=title, showlegend=False)
    error = None
    if low is not None and high is not None:
        error = {
            "type": "data",
            "symmetric": False,
            "array": [high - ratio],
            "arrayminus": [ratio - low],
            "thickness": 3,
            "width": 10,
        }
    chart.add_scatter(
        x=[ratio],
        y=[""],
        mode="markers",
        marker={"size": 11, "color": SIDE_COLOURS["B"]},
        error_x=error,
        hovertemplate="B / A = %{x:.4f}<extra></extra>",
    )
    ends = [value for value in (ratio, low, high) if value is not None]
    room = max(max(ends) - min([*ends, 1.0]), 1.0 - min(ends), 0.02) * 0.25
    left = min([*ends, 1.0])
    # A ratio is not negative; the words left of the line have room all the same.
    chart.update_xaxes(range=[max(left - room, min(left, 0.0)), max([*ends, 1.0]) + room])
    chart.add_vline(x=1, line={"color": GREY, "width": 2, "dash": "dot"})
    for text, anchor in ((f"{words[0]} in B ", "right"), (f" {words[1]} in B", "left")):
        chart.add_annotation(
            x=1,
            y=1,
            yref="paper",
            xanchor=anchor,
            yanchor="bottom",
            text=text,
            showarrow=False,
            font={"size": 12, "color": GREY},
        )
    return chart


@dataclass(frozen=True, slots=True)
class RunPoint:
    """A run in `runs_in_order`."""

    name: str
    started_ns: int
    step_ms: float


def runs_in_order(a: Sequence[RunPoint], b: Sequence[RunPoint]) -> go.Figure:
    """The step time of every run by the order in which they began: what drifts shows as a slope."""
    chart = figure(height=300, x_title="run, in order of start", y_title="step, ms")
    places = {point: i for i, point in enumerate(sorted([*a, *b], key=lambda p: p.started_ns), 1)}
    for side, points in (("A", a), ("B", b)):
        ordered = sorted(points, key=places.__getitem__)
        chart.add_scatter(
            x=[places[point] for point in ordered],
            y=[point.step_ms for point in ordered],
            mode="markers",
            name=side,
            marker={
                "size": 10,
                "color": SIDE_COLOURS[side],
                "symbol": "circle" if side == "A" else "diamond",
            },
            customdata=[label(point.name) for point in ordered],
            hovertemplate=f"{side}: %{{customdata}}, %{{y:.4~g}} ms<extra></extra>",
        )
        if ordered:
            middle = float(np.exp(np.mean(np.log([point.step_ms for point in ordered]))))
            chart.add_hline(
                y=middle, line={"color": SIDE_COLOURS[side], "width": 2, "dash": "dash"}
            )
    return chart


def spreads(a_ms: Floats, b_ms: Floats) -> go.Figure:
    """How often steps take how long: two histograms of one area, over the usual range."""
    chart = figure(
        height=300, x_title="step time, ms", y_title="share of steps, %", barmode="overlay"
    )
    both = np.concatenate([a_ms, b_ms])
    low, high = np.percentile(both, (0, 99)) if both.size else (0.0, 1.0)
    bins = int(np.clip(2 * np.sqrt(max(a_ms.size, b_ms.size)), 12, 60))
    edges = np.linspace(low, max(high, low * 1.02 + 1e-9), bins + 1)
    for name, values in (("A", a_ms), ("B", b_ms)):
        counts, _ = np.histogram(values, edges)
        chart.add_bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts / max(values.size, 1) * 100,
            width=np.diff(edges),
            name=name,
            showlegend=bool(values.size),
            marker={"color": alpha(SIDE_COLOURS[name], 0.6), "line": {"width": 0}},
            hovertemplate=f"{name}: %{{y:.1f}} % of steps near %{{x:.4~g}} ms<extra></extra>",
        )
        if values.size:
            chart.add_vline(
                x=float(np.median(values)),
                line={"color": SIDE_COLOURS[name], "width": 2, "dash": "dash"},
            )
    return chart


def losses(curves: dict[str, tuple[Floats, Floats]]) -> go.Figure:
    """`curves["A"] = (step, loss)`, steps counted from each side's first one."""
    chart = figure(height=300, x_title="step", y_title="loss")
    for name, (step, loss) in curves.items():
        known = np.isfinite(loss)
        at = step[known]
        band = envelope(at, loss[known], max_points=POINTS, bridge=usual_distance(at))
        chart.add_scatter(
            x=band.x,
            y=band.median,
            mode="lines" if band.x.size > 1 else "markers",
            name=name,
            line={
                "color": SIDE_COLOURS[name],
                "width": 2,
                "dash": "solid" if name == "A" else "dash",
            },
            hovertemplate=f"{name}, step %{{x:.0f}}: %{{y:.4~g}}<extra></extra>",
        )
    return chart
