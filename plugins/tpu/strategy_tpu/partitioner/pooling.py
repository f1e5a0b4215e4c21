"""Max and average pooling of a spatially split image, with or without overlapping windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from strategy_tpu.cloning import attr, ints_attr
from strategy_tpu.partitioner.halo import Window, add_back, fitting, spans, window_of, windows
from strategy_tpu.partitioner.rule import PartitionedOp, require, rule
from strategy_tpu.sharded import Layout, Sharded, Value, bounds, is_split, shape_of


@rule("MaxPool")
def max_pool(op: PartitionedOp) -> list[Value]:
    """The maximum of each window; padding is smaller than any number."""
    image, layout, where = _split_operand(op, 0, shape_of(op.inputs[0]))
    seen = windows(op, op.group.reshard(image, layout), where, image.dtype.min)
    (tiles,) = op.per_core(seen, attrs=_unpadded(op))
    return [op.result(tiles, layout)]


@rule("MaxPoolGrad")
def max_pool_gradient(op: PartitionedOp) -> list[Value]:
    """The gradient goes to the position of the maximum, which may be on another core."""
    image, layout, where = _split_operand(op, 0, shape_of(op.inputs[0]))
    seen = windows(op, op.group.reshard(image, layout), where, image.dtype.min)
    (parts,) = op.per_core(seen, op.tiles(1, layout), op.tiles(2, layout), attrs=_unpadded(op))
    return [op.result(add_back(op, parts, where, layout, image.shape), layout)]


@rule("AvgPool")
def average_pool(op: PartitionedOp) -> list[Value]:
    """The mean of each window, without the positions beyond the edge."""
    image, layout, where = _split_operand(op, 0, shape_of(op.inputs[0]))
    seen = windows(op, op.group.reshard(image, layout), where)
    (means,) = op.per_core(seen, attrs=_unpadded(op))
    return [op.result(_weighted(op, means, layout, image.shape), layout)]


@rule("AvgPoolGrad")
def average_pool_gradient(op: PartitionedOp) -> list[Value]:
    """Each window's gradient, divided equally among the positions that were counted."""
    shape = op.output_shape()
    _, layout, where = _split_operand(op, 1, shape)
    gradients = _weighted(op, list(op.tiles(1, layout)), layout, shape)
    sizes = []
    for core, gradient in enumerate(gradients):
        height, width = (stop - start for start, stop in (where[core][1], where[core][2]))
        with op.group.on(core, op.name):
            sizes.append(tf.stack([tf.shape(gradient)[0], height, width, shape[3]]))
    (parts,) = op.per_core(sizes, gradients, attrs=_unpadded(op))
    channels = shape[3]
    for part, size in zip(parts, where, strict=True):
        part.set_shape([None, size[1][1] - size[1][0], size[2][1] - size[2][0], channels])
    return [op.result(add_back(op, parts, where, layout, shape), layout)]


def _split_operand(
    op: PartitionedOp, position: int, shape: Sequence[int | None]
) -> tuple[Sharded, Layout, list[dict[int, tuple[int, int]]]]:
    """The split operand, its layout without channels, and the input positions of each core's
    results."""
    value = op.inputs[position]
    require(is_split(value), "an operand that is not split")
    assert isinstance(value, Sharded)
    geometry = _geometry(op, shape)
    layout = fitting(value.layout, geometry)
    return value, layout, spans(layout, geometry)


def _geometry(op: PartitionedOp, shape: Sequence[int | None]) -> dict[int, Window]:
    require(op.attr("data_format") == b"NHWC", "channels come first")
    sizes = op.attr("ksize")
    require(sizes[0] == sizes[3] == 1, "a window over examples or channels")
    return {axis: window_of(op, axis, int(sizes[axis]), shape[axis]) for axis in (1, 2)}


def _unpadded(op: PartitionedOp) -> dict[str, Any]:
    attrs = {"padding": attr(s=b"VALID")}
    if "explicit_paddings" in op.template.attrs:
        attrs["explicit_paddings"] = ints_attr([])
    return attrs


def _weighted(
    op: PartitionedOp, tiles: list[tf.Tensor], layout: Layout, shape: Sequence[int | None]
) -> list[tf.Tensor]:
    """Tiles multiplied by window size / positions counted, which is 1 except at padded edges."""
    by_axis = _geometry(op, shape)
    if all(_is_inside(window) for window in by_axis.values()):
        return tiles
    results = []
    for core, tile in enumerate(tiles):
        point = layout.coordinates[core]
        rows, columns = (_weights(by_axis[a], layout.grid[a], point[a]) for a in (1, 2))
        with op.group.on(core, op.name):
            weight = tf.constant(np.outer(rows, columns)[None, :, :, None], tile.dtype)
            results.append(tile * weight)
    return results


def _is_inside(window: Window) -> bool:
    last = (window.output_size - 1) * window.stride - window.before + window.size
    return window.before == 0 and last <= window.input_size


def _weights(window: Window, splits: int, index: int) -> list[float]:
    weights = []
    for position in range(*bounds(window.output_size, splits, index)):
        start = position * window.stride - window.before
        counted = min(start + window.size, window.input_size) - max(start, 0)
        weights.append(window.size / counted)
    return weights
