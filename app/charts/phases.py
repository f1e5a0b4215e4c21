"""Chart of the mean step of each replica: one bar, with the phases stacked in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from strategy_lab.app.charts.base import figure, label
from strategy_lab.profiles.reporting.palette import PHASE_COLOURS, phase_name
from strategy_lab.profiles.tables.schema import CATEGORIES


def breakdown(
    names: Sequence[str], phases: Mapping[str, Sequence[float | None]], *, unit: str = "ms"
) -> go.Figure:
    """Stacked horizontal bars; `phases[name][i]` is phase `name` of row `i`, None left out."""
    chart = figure(
        height=min(130 + 30 * len(names), 700),
        x_title=f"{unit} per step",
        barmode="stack",
        hovermode="y unified" if len(names) <= 16 else "closest",
    )
    shown = [label(name, 30) for name in names]
    for phase in CATEGORIES:
        values = phases.get(phase)
        if values is None or (phase == "delay" and not any(values)):
            continue
        chart.add_bar(
            y=shown,
            x=list(values),
            name=phase_name(phase),
            orientation="h",
            marker={"color": PHASE_COLOURS[phase], "line": {"width": 0}},
            hovertemplate=f"{phase_name(phase)} %{{x:.4~g}} {unit}<extra></extra>",
        )
    chart.update_yaxes(autorange="reversed", showgrid=False, type="category")
    chart.update_xaxes(showgrid=True, rangemode="tozero")
    chart.update_layout(legend_traceorder="normal")
    return chart
