"""Who sends how much to whom: a heat map from sending to receiving device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from app.charts.base import figure, label
from profiles import units

SHORT = 8
"""A name of so many characters stays on one line."""


def traffic(
    devices: Sequence[str], bytes_per_step: np.ndarray, *, num_labelled: int = 9
) -> go.Figure:
    """`bytes_per_step[i, j]` bytes from `devices[i]` to `devices[j]` in a step; 0 stays blank.

    Up to `num_labelled` of them have their numbers written on; more have a scale beside them.
    """
    shown = [label(name, 24) for name in devices]
    sent = np.where(bytes_per_step > 0, bytes_per_step, np.nan)
    text = [[units.size(value) if value > 0 else "" for value in row] for row in bytes_per_step]
    side = min(max(34 * len(devices), 150), 620)
    chart = figure(height=side + 110, x_title="to", y_title="from")
    chart.add_heatmap(
        z=sent,
        x=shown,
        y=shown,
        text=text,
        texttemplate="%{text}" if len(devices) <= num_labelled else None,
        customdata=text,
        textfont={"size": 12 if len(devices) <= 9 else 10},
        hovertemplate="%{y} to %{x}: %{customdata} a step<extra></extra>",
        colorscale=[[0, "#CFE3F3"], [1, "#0B3C6F"]],
        zmin=0,
        zmax=max(float(bytes_per_step.max(initial=0)), 1.0),
        showscale=len(devices) > num_labelled,
        colorbar={"title": "B/step", "thickness": 12, "exponentformat": "SI"},
        xgap=2,
        ygap=2,
    )
    chart.update_yaxes(
        autorange="reversed",
        showgrid=False,
        type="category",
        tickvals=shown,
        ticktext=[in_two_lines(name) for name in shown],
    )
    chart.update_xaxes(type="category")
    return chart


def in_two_lines(name: str) -> str:
    """A label broken near its middle, a number staying with its word: wide, it narrows the map."""
    breaks = [at for at, char in enumerate(name[:-1]) if char == " " and not name[at + 1].isdigit()]
    if not breaks or len(name) <= SHORT:
        return name
    at = min(breaks, key=lambda each: abs(each - len(name) / 2))
    return f"{name[:at]}<br>{name[at + 1 :]}"
