"""A TPU's mesh: a box per core, coloured by its replica, and the links between them by bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from strategy_app.charts.base import figure
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import GREY, ink_on, replica_colour
from strategy_tpu.shown.mesh_links import AXES, MeshLink

_WIDTH, _HEIGHT = 0.66, 0.6
"""Size of a core's box; the rest of its cell, 1 by 1, is for links."""
_GAP = 1 - _HEIGHT
_ABOVE = 0.3
"""Added to the height of a cell if links pass above the boxes."""
_LABEL = 0.2
"""Height of a link's bytes below the boxes that it connects."""
_CHIP_GAP = 0.3
_Z_SIDE = 0.06
"""Distance of a link along z from the box, and of the next one from it."""
_WIDEST_PX = 8.0
_MOST_COLUMNS = 4
"""In wider meshes the bytes of links do not fit beside them: they appear on hover."""


@dataclass(frozen=True, slots=True)
class CorePlace:
    """A core on the mesh (x, y, z, core of the chip), and the device that emulates it."""

    coordinates: tuple[int, ...]
    replica: int
    lines: tuple[str, ...]
    """What is written on it, first line bold; markup already escaped."""


def mesh(
    places: Sequence[CorePlace], shape: Sequence[int], links: Sequence[MeshLink] = ()
) -> go.Figure:
    """Draw every core and link; x goes right with the chip's cores inside, y and then z go down.

    A link's width is proportional to its bytes.
    """
    x_size, y_size, z_size, per_chip = shape
    columns = x_size * (per_chip + _CHIP_GAP) - _CHIP_GAP
    # Links along x go above the cores that lie between those that they join.
    above = _ABOVE if links and x_size > 1 and per_chip > 1 else 0.0
    rows = z_size * (y_size * (1 + above) + _CHIP_GAP) - _CHIP_GAP
    chart = figure(height=int(min(90 + 96 * rows, 760)), showlegend=False)
    most = max((link.bytes for link in links), default=0.0)
    for link in links:
        _add_link(
            chart,
            link,
            shape,
            above,
            most,
            is_labelled=x_size * per_chip <= _MOST_COLUMNS and most > 0,
        )
    for place in places:
        left, top = _corner(place.coordinates, shape, above)
        colour = replica_colour(place.replica)
        chart.add_shape(
            type="rect",
            x0=left,
            x1=left + _WIDTH,
            y0=top,
            y1=top + _HEIGHT,
            line={"width": 0},
            fillcolor=colour,
            layer="below",
        )
        chart.add_scatter(
            x=[left + _WIDTH / 2],
            y=[top + _HEIGHT / 2],
            mode="text",
            text=["<br>".join((f"<b>{place.lines[0]}</b>", *place.lines[1:]))],
            textfont={"color": ink_on(colour)},
            hovertext=str(place.coordinates),
            hoverinfo="text",
        )
    # Links along z leave to the right of the last column, with their bytes beside them.
    room = 0.2 if z_size > 1 else 0.0
    chart.update_xaxes(visible=False, range=[-0.05, columns + room], fixedrange=True)
    chart.update_yaxes(
        visible=False, range=[rows - above - _GAP + _LABEL, -0.1 - above], fixedrange=True
    )
    return chart


def _corner(coordinates: Sequence[int], shape: Sequence[int], above: float) -> tuple[float, float]:
    x, y, z, core = coordinates
    _, y_size, _, per_chip = shape
    cell = 1 + above
    return x * (per_chip + _CHIP_GAP) + core, z * (y_size * cell + _CHIP_GAP) + y * cell


def _add_link(
    chart: go.Figure,
    link: MeshLink,
    shape: Sequence[int],
    above: float,
    most: float,
    *,
    is_labelled: bool,
) -> None:
    left, top = _corner(link.start, shape, above)
    right, bottom = _corner(link.end, shape, above)
    axis = AXES[link.axis]
    across = left + _WIDTH / 2
    if axis == "y":
        x, y = [across, across], [top + _HEIGHT, bottom]
        # Below the bytes of links to the right, above links along x.
        down = _LABEL + 0.1 if above else 0.7 * (bottom - top - _HEIGHT)
        at, position = (across, top + _HEIGHT + down), "middle right"
    elif axis == "z":  # around the boxes in between
        side = left + _WIDTH + _Z_SIDE * (1 + link.start[1] % 3)
        x = [left + _WIDTH, side, side, left + _WIDTH]
        y = [top + 0.25 * _HEIGHT] * 2 + [bottom + 0.25 * _HEIGHT] * 2
        at, position = (side, top + _HEIGHT + 0.2), "middle right"
    elif axis == "x" and above:  # around the chip's other cores; each core at its height
        level = top - (0.08 + 0.1 * link.start[3])
        out, back = left + 0.7 * _WIDTH, right + 0.3 * _WIDTH
        x, y = [out, out, back, back], [top, level, level, bottom]
        at, position = (out, level - 0.03), "top right"
    else:
        x, y = [left + _WIDTH, right], [top + 0.85 * _HEIGHT] * 2
        # Below the boxes: on a phone, the space between two is narrower than the text.
        at, position = ((left + _WIDTH + right) / 2, top + _HEIGHT), "bottom center"
        if shape[2] > 1:  # beside the links along z
            at, position = (left + _WIDTH + _Z_SIDE * min(shape[1] + 1, 4), at[1]), "bottom right"
    size = units.size(link.bytes)
    hover = f"{axis}: {link.start} to {link.end}, {size} a step"
    chart.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": GREY, "width": 1 + _WIDEST_PX * (link.bytes / most if most else 0)},
        hovertext=hover,
        hoverinfo="text",
    )
    chart.add_scatter(
        x=[at[0]],
        y=[at[1]],
        mode="text",
        text=[(f"  {size}" if position == "middle right" else size) if is_labelled else ""],
        textposition=position,
        textfont={"size": 12},
        hovertext=hover,
        hoverinfo="text",
    )
