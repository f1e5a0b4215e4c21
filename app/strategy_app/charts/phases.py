"""Chart of the mean step of each replica or worker: one bar, its phases in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from strategy_app.charts.base import figure, label
from strategy_profiles.reporting.palette import PHASE_COLOURS, phase_name

_LONG = 18
_CHAR_PX = 7.9
_TWO_ROWS_PX = 61
"""The top margin for a legend of two rows: how many it has depends on the column's width."""
_LEGEND_AND_AXIS_PX = 150
"""Of a legend of three rows, as narrow columns have it."""


def breakdown(
    names: Sequence[str],
    phases: Mapping[str, Sequence[float | None]],
    *,
    unit: str = "ms",
    colours: Mapping[str, str] = PHASE_COLOURS,
) -> go.Figure:
    """Stacked horizontal bars in the order of `colours`, which has the colour of each phase.

    `phases[name][i]` is phase `name` of row `i`, None left out.
    """
    shown = [_broken(label(name, 30)) for name in names]
    row_px = 38 if any("<br>" in name for name in shown) else 24
    longest = max((len(part) for name in shown for part in name.split("<br>")), default=0)
    chart = figure(
        left_px=8 + round(_CHAR_PX * longest),
        top_px=_TWO_ROWS_PX,
        height=min(_LEGEND_AND_AXIS_PX + row_px * len(names), 700),
        x_title=f"{unit} per step",
        barmode="stack",
        hovermode="y unified" if len(names) <= 16 else "closest",
    )
    for phase, colour in colours.items():
        values = phases.get(phase)
        if values is None or (phase == "delay" and not any(values)):
            continue
        chart.add_bar(
            y=shown,
            x=list(values),
            name=phase_name(phase),
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"{phase_name(phase)} %{{x:.4~g}} {unit}<extra></extra>",
        )
    chart.update_yaxes(autorange="reversed", showgrid=False, type="category")
    chart.update_xaxes(showgrid=True, rangemode="tozero")
    # Where the figure begins: beside the names of the bars, a narrow one has a row per entry. The
    # indentation takes the space before a colour away, which the longest words need.
    legend = {"traceorder": "normal", "entrywidth": 74, "indentation": -10, "xref": "container"}
    chart.update_layout(legend=legend)
    return chart


def _broken(name: str) -> str:
    """Break a long name after its first part: beside it, a phone leaves little for the bars."""
    return name.replace(", ", ",<br>", 1) if len(name) > _LONG else name
