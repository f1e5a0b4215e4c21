"""Halo exchange: windows that cross the edge of a tile read the missing rows from its neighbours.

`windows` fetches for each core the part of a tensor that its result needs (the halo exchange).
`add_back` is its transpose and adds the gradient of a window to the tiles it was read from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from strategy_tpu.core_group import CoreGroup, Span, Want
from strategy_tpu.partitioner.rule import NoRule, PartitionedOp
from strategy_tpu.sharded import Layout, Sharded, Size, bounds

_HALO = "halo-exchange"


@dataclass(frozen=True)
class Window:
    """A sliding window along one axis: size (with dilation), stride, and padding before."""

    size: int
    stride: int
    before: int
    input_size: int
    output_size: int

    def span(self, splits: int, index: int) -> Span:
        """The input positions that tile `index` of the output reads."""
        first, end = bounds(self.output_size, splits, index)
        start = first * self.stride - self.before
        return start, (end - first - 1) * self.stride + self.size + start


def window_of(op: PartitionedOp, axis: int, size: int, input_size: Size) -> Window:
    """The window of a convolution or pooling op along a spatial axis (NHWC)."""
    if input_size is None:
        raise NoRule("a spatial axis of unknown size")
    stride, padding = int(op.attr("strides")[axis]), op.attr("padding")
    if padding == b"SAME":
        output = -(-input_size // stride)
        before = max((output - 1) * stride + size - input_size, 0) // 2
    elif padding == b"VALID":
        output, before = (input_size - size) // stride + 1, 0
    else:
        pads = op.attr("explicit_paddings")
        before = int(pads[2 * axis])
        output = (input_size + before + int(pads[2 * axis + 1]) - size) // stride + 1
    return Window(size, stride, before, input_size, output)


def fitting(layout: Layout, by_axis: Mapping[int, Window]) -> Layout:
    """The layout without splits of channels, and of axes that have fewer results than tiles."""
    small = [axis for axis, w in by_axis.items() if w.output_size < layout.grid[axis]]
    return layout.without([3, *small])


def spans(layout: Layout, by_axis: Mapping[int, Window]) -> list[dict[int, Span]]:
    """Per core, the input positions along each spatial axis."""
    return [
        {axis: w.span(layout.grid[axis], point[axis]) for axis, w in by_axis.items()}
        for point in layout.coordinates
    ]


def windows(
    op: PartitionedOp, value: Sharded, by_core: Sequence[Mapping[int, Span]], pad: Any = 0
) -> list[tf.Tensor]:
    """Fetch each core's window of a tensor, with `pad` beyond the edges (one halo exchange).

    `by_core` has each core's input positions by axis; on other axes the core keeps its own tile.
    """
    group = op.group
    with group.communication(_HALO, value, op.name) as nodes:
        for core in group.cores:
            point = value.layout.coordinates[core]
            wanted: list[Want] = [
                by_core[core].get(axis, point[axis]) for axis in range(len(value.shape))
            ]
            nodes.append(group.assemble(value, core, wanted, _HALO, pad))
    return list(nodes)


def add_back(
    op: PartitionedOp,
    parts: Sequence[tf.Tensor],
    by_core: Sequence[Mapping[int, Span]],
    layout: Layout,
    shape: Sequence[Size],
) -> list[tf.Tensor]:
    """Per core, its tile of the sum of all windows: the transpose of `windows`."""
    group = op.group
    tiles = []
    with group.recorder.communication(_HALO, op.name, group.devices, None) as nodes:
        for core in group.cores:
            tile = {
                axis: bounds(
                    _require_known(shape[axis]), layout.grid[axis], layout.coordinates[core][axis]
                )
                for axis in by_core[core]
            }
            pieces = [
                _piece(group, parts[other], by_core[other], tile, other, core)
                for other in _contributors(layout, core, by_core, tile)
            ]
            with group.on(core, op.name):
                if not pieces:  # a stride that skips the whole tile
                    raise NoRule("a tile that no window touches")
                tiles.append(tf.add_n(pieces) if len(pieces) > 1 else pieces[0])
        nodes.extend(tiles)
    return tiles


def _contributors(
    layout: Layout,
    core: int,
    by_core: Sequence[Mapping[int, Span]],
    tile: Mapping[int, Span],
) -> list[int]:
    """Cores whose windows overlap a core's tile; each distinct window once."""
    point = layout.coordinates[core]
    others: list[int] = []
    # Once per point of the grid, not per core: cores that replicate a tile have the same window,
    # whose gradient would otherwise be added several times.
    for other_point in dict.fromkeys(layout.coordinates):
        other = layout.holder(other_point, core)
        aligned = all(
            other_point[axis] == point[axis] for axis in range(layout.rank) if axis not in tile
        )
        if aligned and all(_overlap(by_core[other][axis], tile[axis]) for axis in tile):
            others.append(other)
    return others


def _piece(
    group: CoreGroup,
    part: tf.Tensor,
    window: Mapping[int, Span],
    tile: Mapping[int, Span],
    source: int,
    target: int,
) -> tf.Tensor:
    """The part of a window that is in a tile, sent to the tile's core and padded to its size."""
    rank = part.shape.rank
    index = [slice(None)] * rank
    margins = [[0, 0] for _ in range(rank)]
    for axis, (start, stop) in tile.items():
        low, high = _overlap(window[axis], (start, stop)) or (start, start)
        index[axis] = slice(low - window[axis][0], high - window[axis][0])
        margins[axis] = [low - start, stop - high]
    with group.on(source, _HALO):
        piece = part[tuple(index)]
    if source != target:
        group.recorder.transfer(piece, group.devices[source], group.devices[target], _HALO)
    with group.on(target, _HALO):
        return tf.pad(piece, margins) if any(map(any, margins)) else tf.identity(piece)


def _overlap(a: Span, b: Span) -> Span | None:
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low < high else None


def _require_known(size: Size) -> int:
    if size is None:
        raise NoRule("a spatial axis of unknown size")
    return size
