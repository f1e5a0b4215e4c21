"""Who sends how much to whom: a heat map from sending to receiving device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from strategy_app.charts.base import figure, label
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import ink_on

SHORT = 14
"""Length up to which a name stays on one line."""
ONE_LINE_PX, TWO_LINES_PX = 34, 40
CHARACTER_PX = 6.5
WIDTH_PX, USUAL_LABEL_PX = 380, 60
"""Of the cells together, in a column of a page; of a label below the axis that is on its side."""
PALE, DEEP = "#CFE3F3", "#0B3C6F"


def traffic(
    devices: Sequence[str], bytes_per_step: np.ndarray, *, num_labelled: int = 9
) -> go.Figure:
    """`bytes_per_step[i, j]` bytes from `devices[i]` to `devices[j]` in a step; 0 stays blank.

    Up to `num_labelled` of them have their numbers written on; more have a scale beside them.
    """
    labels = [label(name, 24) for name in devices]
    lines = [in_two_lines(name) for name in labels]
    sent = np.where(bytes_per_step > 0, bytes_per_step, np.nan)
    text = [[units.size(value) if value > 0 else "" for value in row] for row in bytes_per_step]
    top = max(float(bytes_per_step.max(initial=0)), 1.0)
    row_px = TWO_LINES_PX if lines != labels else ONE_LINE_PX
    side = min(max(row_px * len(devices), 150), 620)
    label_px = CHARACTER_PX * max(len(part) for line in lines for part in line.split("<br>"))
    is_on_side = label_px > WIDTH_PX / len(lines)
    below_px = max(label_px - USUAL_LABEL_PX, 0) if is_on_side else 0  # else the cells are squeezed
    chart = figure(
        height=side + 110 + round(below_px), x_title="to", y_title="from", showlegend=False
    )
    chart.add_heatmap(
        z=sent,
        x=labels,
        y=labels,
        text=text,
        customdata=text,
        hovertemplate="%{y} to %{x}: %{customdata} a step<extra></extra>",
        colorscale=[[0, PALE], [1, DEEP]],
        zmin=0,
        zmax=top,
        showscale=len(devices) > num_labelled,
        colorbar={"title": "B/step", "thickness": 12, "exponentformat": "SI"},
        xgap=2,
        ygap=2,
    )
    if len(devices) <= num_labelled:
        _write_on(chart, labels, bytes_per_step / top, text)
    last = len(labels) - 0.5
    names = {"type": "category", "tickvals": labels, "ticktext": lines}
    chart.update_yaxes(range=[last, -0.5], showgrid=False, **names)
    # Slanted names reach over each other's cells: upright, or on their side.
    chart.update_xaxes(range=[-0.5, last], autotickangles=[0, 90], **names)
    return chart


def _write_on(
    chart: go.Figure, names: Sequence[str], shares: np.ndarray, text: Sequence[Sequence[str]]
) -> None:
    """The numbers on their cells, each in the ink that is easier to read there."""
    cells = [(row, column) for row in range(len(names)) for column in range(len(names))]
    chart.add_scatter(
        x=[names[column] for _, column in cells],
        y=[names[row] for row, _ in cells],
        text=[text[row][column] for row, column in cells],
        mode="text",
        textfont={"size": 12, "color": [ink_on(_shade(shares[cell])) for cell in cells]},
        hoverinfo="skip",
    )


def _shade(share: float) -> str:
    """The colour of a cell that holds this share of the largest, 0 to 1."""
    ends = [[int(end[i : i + 2], 16) for i in (1, 3, 5)] for end in (PALE, DEEP)]
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in zip(*ends, strict=True))


def in_two_lines(name: str) -> str:
    """A label broken near its middle, a number staying with its word: wide, it narrows the map."""
    breaks = [at for at, char in enumerate(name[:-1]) if char == " " and not name[at + 1].isdigit()]
    if not breaks or len(name) <= SHORT:
        return name
    at = min(breaks, key=lambda each: abs(each - len(name) / 2))
    return f"{name[:at]}<br>{name[at + 1 :]}"
