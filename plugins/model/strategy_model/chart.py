"""The model as a picture: forward blocks on the left, their gradients on the right, transfers.

A block is a bar, cut into one cell per device. The data flows down on the left and up on the
right; below stand what sums the gradients and the optimizer.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal

import plotly.graph_objects as go

from strategy_app.charts.base import CLEAR, alpha, figure, label
from strategy_model.model import Block, ModelPicture, Move, Share
from strategy_profiles.reporting import units
from strategy_profiles.reporting.palette import GREY, device_colour

Sizing = Literal["time", "variables", "outputs"]

ROW_PX = 38
MOST_ARROWS = 12
_RIGHT = 1.4
"""Where the right column begins; a column is 1 wide."""
_END = 2.75
_SMALLEST = 0.01
_UNKNOWN = 0.015
"""Widths of a cell with next to nothing, and of one whose value is not known."""
_TITLE = 18
_ON_RIGHT = frozenset({"gradient", "reduce", "optimizer", "workers"})
_MOST_PAIRS = 6


_Cell = tuple[float, float, int, str, bool, str]
"""Left end, width, row, text at the pointer, whether its value is known, title if it is folded."""


@dataclass(frozen=True, slots=True)
class _BlockPosition:
    """Where a block is: the row of its bar, and the bar's two ends."""

    row: float
    left: float
    right: float

    @property
    def is_right(self) -> bool:
        return self.left >= _RIGHT


def value_of(share: Share, sizing: Sizing) -> float | None:
    """Milliseconds or bytes of a cell, or None if they are not known."""
    if sizing == "time":
        return share.time_ms
    if sizing == "variables":
        return share.variable_bytes
    return share.output_bytes if share.num_unsized < share.num_ops else None


def content_of(picture: ModelPicture, sizing: Sizing) -> list[bool]:
    """Return for each block whether a device has a value of it, or a transfer has it as an end."""
    ends = {end for move in picture.moves[:MOST_ARROWS] for end in (move.source, move.target)}
    return [
        number in ends or any(value_of(share, sizing) for share in block.shares)
        for number, block in enumerate(picture.blocks)
    ]


def model_graph(picture: ModelPicture, names: Mapping[str, str], sizing: Sizing) -> go.Figure:
    """Draw the picture; `names` are the devices' short names. Every trace of bars is a device.

    A block without content is left out.
    """
    has_content = content_of(picture, sizing)
    rows = _rows(picture.blocks)
    kept = sorted(set(compress(rows, has_content)))
    rows = [bisect_left(kept, row) for row in rows]
    totals = [
        sum(value_of(share, sizing) or 0.0 for share in block.shares) for block in picture.blocks
    ]
    largest = max(totals, default=0.0) or 1.0
    height = 1 + max(rows, default=0)
    chart = figure(height=60 + ROW_PX * height, barmode="overlay", showlegend=False)
    spots: list[_BlockPosition] = []
    cells: dict[str, list[_Cell]] = {device: [] for device in picture.devices}
    for block, row, is_kept in zip(picture.blocks, rows, has_content, strict=True):
        left = at = _RIGHT if block.part in _ON_RIGHT else 0.0
        for share in block.shares if is_kept else ():
            value = value_of(share, sizing)
            width = _UNKNOWN if value is None else max(0.94 * value / largest, _SMALLEST)
            text = _cell_text(block, share, names, picture.num_steps)
            folded = block.title if len(block.layers) > 1 else ""
            cells[share.device].append((at, width, row, text, value is not None, folded))
            at += width
        spots.append(_BlockPosition(row, left, max(at, left + 0.05)))
    for number, (device, own) in enumerate(cells.items()):
        _add_device(chart, label(names[device], 30), device_colour(number), own)
    titled = compress(zip(picture.blocks, spots, totals, strict=True), has_content)
    _add_titles(chart, list(titled), sizing)
    _add_arrows(chart, picture, spots, names)
    chart.update_xaxes(visible=False, range=[-0.02, _END], fixedrange=True)
    chart.update_yaxes(visible=False, range=[height - 0.4, -1.2], fixedrange=True)
    return chart


def _rows(blocks: Sequence[Block]) -> list[int]:
    """Give a gradient the row of its layer; what has none comes below."""
    rows: list[int] = []
    of_layers: dict[tuple[str, ...], int] = {}
    next_left = next_right = 0
    for block in blocks:
        if block.part == "workers":
            rows.append(max(rows, default=0) // 2)
        elif block.part == "gradient" and block.layers in of_layers:
            rows.append(of_layers[block.layers])
            next_right = max(next_right, rows[-1] + 1)
        elif block.part in _ON_RIGHT:
            # The loss turns the flow round: nothing of the right column is above its row.
            next_right = max(next_right, next_left - 1 if block.part == "gradient" else next_left)
            rows.append(next_right)
            next_right += 1
        else:
            next_left = max(next_left, next_right if block.part in {"delay", "other"} else 0)
            rows.append(next_left)
            if block.part == "forward":
                of_layers[block.layers] = next_left
            next_left += 1
    return rows


def _add_device(chart: go.Figure, name: str, colour: str, cells: Sequence[_Cell]) -> None:
    """Add a device's part of each block; a part without a value is an outline."""
    chart.add_bar(
        name=name,
        orientation="h",
        base=[cell[0] for cell in cells],
        x=[cell[1] for cell in cells],
        y=[cell[2] for cell in cells],
        width=0.4,
        marker={
            "color": [colour if cell[4] else CLEAR for cell in cells],
            # A thin cell shows its colour, not its outline.
            "line": {
                "color": GREY,
                "width": [int(cell[1] > 2 * _SMALLEST or not cell[4]) for cell in cells],
            },
        },
        hovertext=[cell[3] for cell in cells],
        customdata=[cell[5] for cell in cells],
        # A click selects a cell: it and the others stay as they are.
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _add_titles(
    chart: go.Figure,
    titled: Sequence[tuple[Block, _BlockPosition, float]],
    sizing: Sizing,
) -> None:
    """Write each block's title and total above its bar, and the head of each column."""
    texts = []
    for block, _, total in titled:
        known = any(value_of(share, sizing) is not None for share in block.shares)
        size_text = (units.milliseconds(total) if sizing == "time" else units.size(total)) + " "
        texts.append(f"{label(block.title, _TITLE)} <b>{size_text if known else ''}</b>")
    chart.add_scatter(
        x=[spot.left for _, spot, _ in titled],
        y=[spot.row - 0.42 for _, spot, _ in titled],
        text=texts,
        mode="text",
        textposition="middle right",
        textfont={"size": 11},
        cliponaxis=False,
        hoverinfo="skip",
    )
    heads = [(0.0, "<b>Forward</b> ↓")]
    if any(block.part == "gradient" for block, _, _ in titled):
        heads.append((_RIGHT, "<b>Gradients</b> ↑"))
    for x, text in heads:
        chart.add_annotation(x=x, y=-1.0, text=text, showarrow=False, xanchor="left")


def _add_arrows(
    chart: go.Figure,
    picture: ModelPicture,
    spots: Sequence[_BlockPosition],
    names: Mapping[str, str],
) -> None:
    moves = picture.moves[:MOST_ARROWS]
    largest = max((move.bytes or 0.0 for move in moves), default=0.0)
    xs, ys, texts, positions, hovers = [], [], [], [], []
    for move in moves:
        curve = _curve_between(spots[move.source], spots[move.target])
        is_large = (move.bytes or 0.0) > 0.15 * largest
        # By magnitude, so that 8 bytes never look like megabytes.
        width = 1 + min(math.log10(1 + (move.bytes or 0.0)) / 2.5, 3)
        chart.add_shape(
            type="path",
            path="M {},{} C {},{} {},{} {},{}".format(*(v for point in curve for v in point)),
            line={"color": alpha(GREY, 0.9), "width": width},
        )
        # The head follows the end of the curve: from a point of the curve shortly before it.
        near, end = _on_curve(curve, 0.93), curve[-1]
        chart.add_annotation(
            x=end[0],
            y=end[1],
            ax=near[0],
            ay=near[1],
            xref="x",
            yref="y",
            axref="x",
            ayref="y",
            showarrow=True,
            arrowhead=2,
            arrowwidth=width,
            arrowsize=1.2 if width < 2 else 0.8,
            arrowcolor=GREY,
            text="",
        )
        # Two blocks that send to each other have their numbers apart.
        middle = _on_curve(curve, 0.5 if move.source <= move.target else 0.6)
        xs.append(middle[0])
        ys.append(middle[1])
        texts.append(units.size(move.bytes) if is_large else "")
        # Not on an arrow that goes right, nor on the title above a block.
        positions.append("bottom right" if move.source == move.target else "top right")
        hovers.append(_move_text(picture, move, names))
    chart.add_scatter(
        x=xs,
        y=ys,
        text=texts,
        mode="markers+text",
        marker={"size": 9, "color": GREY, "symbol": "diamond"},
        textposition=positions,
        textfont={"size": 10},
        cliponaxis=False,
        hovertext=hovers,
        hovertemplate="%{hovertext}<extra></extra>",
    )


_Point = tuple[float, float]
_Curve = tuple[_Point, _Point, _Point, _Point]


def _curve_between(source: _BlockPosition, target: _BlockPosition) -> _Curve:
    """Return a cubic Bezier curve from a bar to a bar, in the chart's coordinates.

    It leaves and reaches each bar along that bar's row, so that it crosses no title: within a
    column from and to the right edges, around the column's margin; between the columns through the
    middle between them. A block that sends to itself gets a loop beside its bar.
    """
    margin = _END if source.is_right else _RIGHT - 0.1
    begin, end = source.right + 0.01, target.right + 0.01
    if source == target:
        above, below = source.row - 0.13, source.row + 0.13
        return (begin, above), (begin + 0.2, above), (begin + 0.2, below), (begin, below)
    if source.is_right != target.is_right:
        if target.is_right:
            end = target.left - 0.015
        else:
            begin = source.left - 0.015
        margin = (begin + end) / 2
    return (begin, source.row), (margin, source.row), (margin, target.row), (end, target.row)


def _on_curve(curve: _Curve, part: float) -> _Point:
    rest = 1 - part
    weights = (rest**3, 3 * rest**2 * part, 3 * rest * part**2, part**3)
    x, y = (
        sum(weight * point[axis] for weight, point in zip(weights, curve, strict=True))
        for axis in (0, 1)
    )
    return x, y


def _cell_text(block: Block, share: Share, names: Mapping[str, str], num_steps: int) -> str:
    side = "gradient of " if block.part == "gradient" and block.layers else ""
    lines = [f"<b>{side}{label(block.title, 60)}</b> on {label(names[share.device], 40)}"]
    if share.num_ops:
        lines.append(units.counted(share.num_ops, "op"))
    if share.time_ms is not None:
        steps = units.counted(num_steps, "captured step")
        lines.append(f"{units.milliseconds(share.time_ms)} a step, mean of {steps}")
    else:
        lines.append("time not measured")
    if share.wait_ms is not None:
        lines.append(f"and {units.milliseconds(share.wait_ms)} waiting for other devices")
    if share.num_variables:
        size = "unknown size" if share.variable_bytes is None else units.size(share.variable_bytes)
        lines.append(f"{units.counted(share.num_variables, 'variable')}, {size}")
    if share.num_ops:
        unsized = f", {share.num_unsized} ops of unknown size" if share.num_unsized else ""
        lines.append(f"{units.size(share.output_bytes)} of outputs{unsized}")
    if len(block.layers) > 1:
        layers = ", ".join(label(name, 40) for name in block.layers[:8])
        more = len(block.layers) - 8
        lines.append(f"layers: {layers}" + (f" and {more} more" if more > 0 else ""))
        lines.append("a click unfolds them")
    return "<br>".join(lines)


def _move_text(picture: ModelPicture, move: Move, names: Mapping[str, str]) -> str:
    source, target = picture.blocks[move.source], picture.blocks[move.target]
    title = f"<b>{_block_title(source)} to {_block_title(target)}</b>"
    if source is target:
        title = f"<b>Within {_block_title(source)}</b>"
    size = "unknown size" if move.bytes is None else units.size(move.bytes)
    lines = [title, f"{size} a step in {move.num_sends:,.3g} sends"]
    for sender, receiver, part in move.pairs[:_MOST_PAIRS]:
        of_pair = "unknown size" if part is None else units.size(part)
        ends = [label(names.get(end, end), 30) for end in (sender, receiver)]
        lines.append(f"{ends[0]} to {ends[1]}: {of_pair}")
    more = len(move.pairs) - _MOST_PAIRS
    return "<br>".join([*lines, f"and {more} more pairs of devices"] if more > 0 else lines)


def _block_title(block: Block) -> str:
    title = label(block.title, 40)
    return f"gradient of {title}" if block.part == "gradient" and block.layers else title
