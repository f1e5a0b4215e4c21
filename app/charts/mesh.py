"""A TPU's mesh: chips side by side, a square per core, coloured by the replica that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from strategy_lab.app.charts.base import figure
from strategy_lab.profiles.reporting.palette import ink_on, replica_colour

_GAP = 0.35
"""Space between chips, in cores."""


@dataclass(frozen=True, slots=True)
class CorePlace:
    """A core on the mesh (x, y, z, core of the chip), and the device that emulates it."""

    coordinates: tuple[int, ...]
    replica: int
    lines: tuple[str, ...]
    """What is written on it, first line bold; markup already escaped."""


def mesh(places: Sequence[CorePlace], shape: Sequence[int]) -> go.Figure:
    """Draw every core; x goes right with the chip's cores inside, y and then z go down."""
    x_size, y_size, z_size, per_chip = shape
    columns = x_size * (per_chip + _GAP) - _GAP
    rows = z_size * (y_size + _GAP) - _GAP
    chart = figure(height=int(min(90 + 74 * rows, 620)), showlegend=False)
    for place in places:
        x, y, z, core = place.coordinates
        left = x * (per_chip + _GAP) + core
        top = z * (y_size + _GAP) + y
        colour = replica_colour(place.replica)
        chart.add_shape(
            type="rect",
            x0=left + 0.03,
            x1=left + 0.97,
            y0=top + 0.05,
            y1=top + 0.95,
            line={"color": colour, "width": 2},
            fillcolor=colour,
            layer="below",
        )
        chart.add_scatter(
            x=[left + 0.5],
            y=[top + 0.5],
            mode="text",
            text=["<br>".join((f"<b>{place.lines[0]}</b>", *place.lines[1:]))],
            textfont={"color": ink_on(colour)},
            hovertext=f"({x}, {y}, {z}, {core})",
            hoverinfo="text",
        )
    chart.update_xaxes(visible=False, range=[-0.1, columns + 0.1], fixedrange=True)
    chart.update_yaxes(visible=False, range=[rows, -0.1], fixedrange=True)
    return chart
