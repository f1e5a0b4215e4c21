"""2-D convolutions, plain and depthwise, and both their gradients, on a spatially split image.

Each core convolves, without padding, the window of the image that its tile of the result needs (see
`halo`). Alternatively, an image that every core has in full is convolved with a filter whose output
channels are split.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from strategy_tpu.cloning import attr, ints_attr
from strategy_tpu.partitioner.halo import Window, add_back, fitting, spans, window_of, windows
from strategy_tpu.partitioner.rule import PartitionedOp, require, rule
from strategy_tpu.sharded import Layout, Sharded, Value, is_split, replicated, shape_of

_UNPADDED = {"padding": attr(s=b"VALID"), "explicit_paddings": ints_attr([])}


@rule("Conv2D", "DepthwiseConv2dNative")
def convolution(op: PartitionedOp) -> list[Value]:
    """Image and filter in, image out."""
    image, kernel = op.inputs
    if not is_split(image):
        return _by_output_channel(op)
    geometry = _geometry(op, shape_of(image), shape_of(kernel))
    layout = fitting(op.layout(0), geometry)
    where = spans(layout, geometry)
    seen = windows(op, op.group.reshard(image, layout), where)
    (tiles,) = op.per_core(seen, op.whole(1), attrs=_UNPADDED)
    return [op.result(tiles, layout)]


@rule("Conv2DBackpropFilter", "DepthwiseConv2dNativeBackpropFilter")
def filter_gradient(op: PartitionedOp) -> list[Value]:
    """Each core's part of the sum over positions, then an all-reduce."""
    image, _, gradient = op.inputs
    kernel_shape = [int(size) for size in op.const(1)]
    guide = image if is_split(image) else gradient
    assert isinstance(guide, Sharded)
    if guide.layout.split_axes() == [3]:
        return _filter_gradient_by_channel(op, kernel_shape)
    geometry = _geometry(op, shape_of(image), kernel_shape)
    layout = fitting(guide.layout, geometry)
    where = spans(layout, geometry)
    seen = windows(op, op.group.reshard(image, layout), where)
    (parts,) = op.per_core(seen, op.whole(1), op.tiles(2, layout), attrs=_UNPADDED)
    keys = [()] * op.num_cores
    tiles = op.group.all_reduce(parts, keys, layout.coordinates, op.name)
    return [Sharded(tuple(tiles), replicated(4, op.num_cores), tuple(kernel_shape))]


@rule("Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput")
def image_gradient(op: PartitionedOp) -> list[Value]:
    """Shape of the image, filter and gradient of the result in; gradient of the image out.

    Each core computes the gradient of the window that it read in the forward pass. Windows of
    neighbouring cores overlap, so each is added to the tiles that it was read from. Raises NoRule
    if the gradient is not split, or a tile is in no window.
    """
    _, kernel, gradient = op.inputs
    require(is_split(gradient), "a filter that is split alone")
    assert isinstance(gradient, Sharded)
    if gradient.layout.split_axes() == [3]:
        return _image_gradient_by_channel(op)
    shape = op.output_shape()
    geometry = _geometry(op, shape, shape_of(kernel))
    layout = fitting(gradient.layout, geometry)
    where = spans(layout, geometry)
    gradients = op.tiles(2, layout)
    sizes = [
        _window_shape(op, core, gradients[core], where[core], shape) for core in op.group.cores
    ]
    (parts,) = op.per_core(sizes, op.whole(1), gradients, attrs=_UNPADDED)
    return [op.result(add_back(op, parts, where, layout, shape), layout)]


def _geometry(
    op: PartitionedOp, image: Sequence[int | None], kernel: Sequence[int | None]
) -> dict[int, Window]:
    require(op.attr("data_format") == b"NHWC", "channels come first")
    dilations = op.attr("dilations")
    by_axis = {}
    for axis in (1, 2):
        size = kernel[axis - 1]
        require(size is not None, "a filter of unknown size")
        assert size is not None
        by_axis[axis] = window_of(op, axis, (size - 1) * dilations[axis] + 1, image[axis])
    return by_axis


def _window_shape(
    op: PartitionedOp,
    core: int,
    gradient: tf.Tensor,
    where: dict[int, tuple[int, int]],
    shape: Sequence[int | None],
) -> tf.Tensor:
    height, width = (stop - start for start, stop in (where[1], where[2]))
    with op.group.on(core, op.name):
        batch = gradient.shape[0] if gradient.shape[0] is not None else tf.shape(gradient)[0]
        return tf.stack([batch, height, width, shape[3]])


def _by_output_channel(op: PartitionedOp) -> list[Value]:
    require(op.type == "Conv2D", "a split depthwise filter")
    layout = op.layout(1).without([0, 1, 2])
    require(not layout.is_replicated, "a filter that is split along its input")
    (tiles,) = op.per_core(op.whole(0), op.tiles(1, layout))
    return [op.result(tiles, layout)]


def _filter_gradient_by_channel(op: PartitionedOp, kernel_shape: list[int]) -> list[Value]:
    require(op.type == "Conv2DBackpropFilter", "a split depthwise filter")
    layout = _channels(op.layout(2))
    gradients = op.tiles(2, layout)
    sizes = op.on_cores(lambda tile: tf.constant([*kernel_shape[:3], tile.shape[3]]), gradients)
    (tiles,) = op.per_core(op.whole(0), sizes, gradients)
    return [Sharded(tuple(tiles), layout, tuple(kernel_shape))]


def _image_gradient_by_channel(op: PartitionedOp) -> list[Value]:
    require(op.type == "Conv2DBackpropInput", "a split depthwise filter")
    layout = _channels(op.layout(2))
    (parts,) = op.per_core(op.whole(0), op.tiles(1, layout), op.tiles(2, layout))
    keys = [()] * op.num_cores
    tiles = op.group.all_reduce(parts, keys, layout.coordinates, op.name)
    return [op.result(tiles, replicated(4, op.num_cores))]


def _channels(layout: Layout) -> Layout:
    require(layout.split_axes() == [3], "a gradient that is not split by channel")
    return layout
