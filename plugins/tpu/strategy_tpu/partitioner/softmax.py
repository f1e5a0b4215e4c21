"""Softmax and cross-entropy, including classes that are split over the cores."""

from __future__ import annotations

import tensorflow as tf

from strategy_tpu.partitioner.rule import PartitionedOp, require, rule
from strategy_tpu.sharded import Layout, Sharded, Value, bounds, rank_of


@rule("Softmax", "LogSoftmax")
def softmax(op: PartitionedOp) -> list[Value]:
    """Softmax along the last axis."""
    logits = op.inputs[0]
    assert isinstance(logits, Sharded)
    if logits.grid[-1] == 1:
        (tiles,) = op.per_core(logits.tiles)
        return [op.result(tiles, logits.layout)]
    shifted, log_sum = _normalised(op, logits)
    tiles = op.on_cores(lambda x, s: x - s, shifted, log_sum)
    if op.type == "Softmax":
        tiles = op.on_cores(tf.exp, tiles)
    return [op.result(tiles, logits.layout)]


@rule("SoftmaxCrossEntropyWithLogits")
def cross_entropy(op: PartitionedOp) -> list[Value]:
    """Loss per example, and its gradient with respect to the logits."""
    require(rank_of(op.inputs[0]) == rank_of(op.inputs[1]) == 2, "operands that are no matrices")
    layout = op.most_split().layout
    logits = op.group.reshard(op.inputs[0], layout)
    labels = op.tiles(1, layout)
    per_example = layout.pick([0])
    if layout.grid[1] == 1:
        losses, gradients = op.per_core(logits.tiles, labels)
    else:
        shifted, log_sum = _normalised(op, logits)
        partial = op.on_cores(
            lambda y, x, s: tf.reduce_sum(y * (s - x), axis=1), labels, shifted, log_sum
        )
        losses = _over_classes(op, partial, layout)
        gradients = op.on_cores(lambda y, x, s: tf.exp(x - s) - y, labels, shifted, log_sum)
    return [op.result(losses, per_example, 0), op.result(gradients, layout, 1)]


@rule("SparseSoftmaxCrossEntropyWithLogits")
def sparse_cross_entropy(op: PartitionedOp) -> list[Value]:
    """The same with class numbers as labels; each core checks which of its classes is the label."""
    layout = _logits_layout(op)
    logits = op.group.reshard(op.inputs[0], layout)
    labels = op.tiles(1, layout.pick([0]))
    if layout.grid[1] == 1:
        losses, gradients = op.per_core(logits.tiles, labels)
        return [op.result(losses, layout.pick([0]), 0), op.result(gradients, layout, 1)]
    classes = logits.shape[1]
    require(classes is not None, "an unknown number of classes")
    assert classes is not None
    shifted, log_sum = _normalised(op, logits)
    hot = []
    for core, label in enumerate(labels):
        start, stop = bounds(classes, layout.grid[1], layout.coordinates[core][1])
        with op.group.on(core, op.name):
            hot.append(
                tf.one_hot(tf.cast(label, tf.int64) - start, stop - start, dtype=logits.dtype)
            )
    partial = op.on_cores(lambda y, x, s: tf.reduce_sum(y * (s - x), axis=1), hot, shifted, log_sum)
    gradients = op.on_cores(lambda y, x, s: tf.exp(x - s) - y, hot, shifted, log_sum)
    losses = _over_classes(op, partial, layout)
    return [op.result(losses, layout.pick([0]), 0), op.result(gradients, layout, 1)]


def _normalised(op: PartitionedOp, logits: Sharded) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """Per core: logits less the maximum over all classes, and the log of the sum of
    exponentials."""
    layout = logits.layout
    keys = [point[:-1] for point in layout.coordinates]
    parts = [point[-1] for point in layout.coordinates]
    largest = op.on_cores(lambda x: tf.reduce_max(x, axis=-1, keepdims=True), logits.tiles)
    largest = op.group.all_reduce(largest, keys, parts, op.name, "max")
    shifted = op.on_cores(lambda x, m: x - m, logits.tiles, largest)
    sums = op.on_cores(lambda x: tf.reduce_sum(tf.exp(x), axis=-1, keepdims=True), shifted)
    sums = op.group.all_reduce(sums, keys, parts, op.name)
    return shifted, op.on_cores(tf.math.log, sums)


def _over_classes(op: PartitionedOp, partial: list[tf.Tensor], layout: Layout) -> list[tf.Tensor]:
    keys = [point[:1] for point in layout.coordinates]
    parts = [point[1] for point in layout.coordinates]
    return op.group.all_reduce(partial, keys, parts, op.name)


def _logits_layout(op: PartitionedOp) -> Layout:
    logits = op.layout(0)
    if not logits.is_replicated:
        return logits
    labels = op.layout(1)
    return labels.pick([0, None])
