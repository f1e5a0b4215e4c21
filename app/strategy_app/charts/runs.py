"""Many runs in one chart: a line per run over its steps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from strategy_app.charts.base import figure, label
from strategy_profiles.reporting.downsample import envelope, readable_top, usual_distance
from strategy_profiles.reporting.palette import RUN_COLOURS, SIDE_COLOURS, run_colour
from strategy_profiles.tables.columns import Floats

POINTS = 800

_DASHES = ("solid", "dash", "dot", "longdashdot")


def together(
    curves: Mapping[str, tuple[Floats, Floats]], *, title: str, unit: str, sides: str = ""
) -> go.Figure:
    """A line per run: `curves[name] = (step, value)`, steps ascending.

    `sides` names the first runs as those of a comparison: `AB` gives two lines the colours of A and
    B, which they have in other charts of the page.

    With the unit ms, the values are step times, whose axis is that of one run's: a first step,
    which traces, does not flatten the others. An axis of others ends at their 98th percentile.
    """
    chart = figure(x_title="step", y_title=f"{title}, {unit}" if unit else title, height=320)
    lines: list[Floats] = []
    for number, (name, (step, values)) in enumerate(curves.items()):
        known = np.isfinite(values)
        at = step[known]
        band = envelope(at, values[known], max_points=POINTS, bridge=usual_distance(at))
        lines.append(band.median)
        side = sides[number : number + 1]
        name_of_line = label(name, 32) + (f" ({side})" if side else "")
        chart.add_scatter(
            x=band.x,
            y=band.median,
            mode="lines" if band.x.size > 1 else "markers",
            name=name_of_line,
            line={"width": 2, **(_side_line(side) if side else _run_line(number - len(sides)))},
            hovertemplate=f"{name_of_line}, step %{{x:.0f}}: %{{y:.4~g}} {unit}<extra></extra>",
        )
    every = np.concatenate([line[np.isfinite(line)] for line in lines] or [np.empty(0)])
    if every.size:
        is_time = unit == "ms"
        top = readable_top(lines) if is_time else float(np.percentile(every, 98)) * 1.1
        chart.update_yaxes(range=[0, top])
    return chart


def _side_line(side: str) -> dict[str, str]:
    return {"color": SIDE_COLOURS[side], "dash": "solid"}


def _run_line(number: int) -> dict[str, str]:
    dash = _DASHES[number // len(RUN_COLOURS) % len(_DASHES)]
    return {"color": run_colour(number), "dash": dash}
