"""Memory over the run: a line per device or process."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from app.charts import thin
from app.charts.base import figure, label
from profiles.palette import replica_colour


def memory(lines: Mapping[str, tuple[thin.Array, thin.Array]]) -> go.Figure:
    """`lines[name] = (step, bytes in use)`."""
    chart = figure(x_title="step", y_title="bytes in use", height=260, showlegend=True)
    for number, (name, (step, used)) in enumerate(lines.items()):
        band = thin.band(step, used)
        chart.add_scatter(
            x=band.x,
            y=band.median,
            mode="lines",
            name=label(name, 40),
            line={"color": replica_colour(number), "width": 2},
            hovertemplate="%{y:.3s}B<extra></extra>",
        )
    chart.update_yaxes(tickformat="~s", ticksuffix="B", rangemode="tozero")
    return chart
