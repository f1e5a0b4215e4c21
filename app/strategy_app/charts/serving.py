"""Parameter servers drawn: what workers' steps are made of, how many wait, who does how many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from strategy_app.charts.base import FEW_STEPS, alpha, figure, label, mark_moment
from strategy_profiles.reporting.palette import (
    GREY,
    SIDE_COLOURS,
    replica_colour,
)
from strategy_profiles.tables.columns import Floats

Counts = npt.NDArray[np.int64]
_NUM_BINS = 60
_STEPS_PER_BIN = 5


@dataclass(frozen=True, slots=True)
class AbsenceMark:
    """A worker was away from `lost_s` to `back_s`; None where it never came back."""

    title: str
    lost_s: float
    back_s: float | None


def closures(
    at_s: Floats, queued: Counts, in_flight: Counts, absences: Sequence[AbsenceMark]
) -> go.Figure:
    """How many closures waited and how many were being done, over time."""
    chart = figure(height=260, x_title="seconds", y_title="closures")
    for name, values, colour in (
        ("queued", queued, SIDE_COLOURS["B"]),
        ("in flight", in_flight, SIDE_COLOURS["A"]),
    ):
        chart.add_scatter(
            x=at_s,
            y=values,
            mode="lines",
            name=name,
            line={"color": colour, "width": 2, "shape": "hv"},
            fill="tozeroy",
            fillcolor=alpha(colour, 0.12),
            hovertemplate=f"%{{y}} {name} at %{{x:.2f}} s<extra></extra>",
        )
    _mark(chart, absences)
    chart.update_xaxes(rangemode="tozero")
    most = max((int(values.max(initial=0)) for values in (queued, in_flight)), default=0)
    # Plotly would mark halves on a short axis, and write them as whole numbers.
    chart.update_yaxes(rangemode="tozero", dtick=1 if most < FEW_STEPS else None, tickformat="d")
    return chart


def step_rates(finished_s: Mapping[str, Floats], absences: Sequence[AbsenceMark]) -> go.Figure:
    """Steps a second of each worker over time."""
    chart = figure(height=260, x_title="seconds", y_title="steps/s")
    end = max((float(times.max()) for times in finished_s.values() if len(times)), default=1.0)
    # Bins of a step or two would draw jumps between whole numbers of steps, not a rate.
    most_steps = max(map(len, finished_s.values()), default=0)
    num_bins = max(min(_NUM_BINS, most_steps // _STEPS_PER_BIN), 1)
    edges = np.linspace(0, max(end, 1e-9), num_bins + 1)
    for index, (name, times) in enumerate(finished_s.items()):
        counts, _ = np.histogram(times, edges)
        chart.add_scatter(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counts / (edges[1] - edges[0]),
            mode="lines" if num_bins > 1 else "markers",
            name=label(name, 30),
            line={"color": replica_colour(index), "width": 2},
            hovertemplate=f"{label(name, 30)}: %{{y:.3~g}} steps/s at %{{x:.1f}} s<extra></extra>",
        )
    _mark(chart, absences)
    chart.update_xaxes(rangemode="tozero")
    chart.update_yaxes(rangemode="tozero")
    return chart


def _mark(chart: go.Figure, absences: Sequence[AbsenceMark]) -> None:
    for absence in absences:
        mark_moment(chart, absence.lost_s, f"{label(absence.title, 24)} lost", GREY)
        if absence.back_s is not None:
            mark_moment(chart, absence.back_s, "back", GREY, y=0.88)
