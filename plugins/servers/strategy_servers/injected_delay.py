"""A real delay in a worker's step, made of ops: a TensorFlow server does not run Python.

Uses the sleep op of tf.data, which blocks one thread of the worker and takes no processor time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf


def delayed(tensors: Sequence[Any], delays_ms: Mapping[int, float]) -> list[Any]:
    """The same tensors, delayed by `delays_ms[worker index]` on a worker that has a delay."""
    if not delays_ms:
        return list(tensors)
    length_us = [round(1e3 * delays_ms.get(i, 0.0)) for i in range(max(delays_ms) + 2)]
    worker = tf.distribute.coordinator.experimental_get_current_worker_index()
    index = tf.minimum(tf.cast(worker, tf.int32), len(length_us) - 1)
    present = tf.nest.flatten(list(tensors), expand_composites=True)
    with tf.control_dependencies(present):
        length = tf.gather(tf.constant(length_us, tf.int64), index)
        slept = tf.cond(length > 0, lambda: _sleep(length), lambda: tf.constant(0, tf.int64))
    with tf.control_dependencies([slept]):
        return tf.nest.map_structure(tf.identity, list(tensors), expand_composites=True)


def _sleep(length_us: tf.Tensor) -> tf.Tensor:
    """Sleep by reading a data set of one element.

    Uses raw ops, because tf.data's optimization of a pipeline before its first element would take
    as long again.
    """
    kind = {"output_types": [tf.int64], "output_shapes": [tf.TensorShape([])]}
    two = tf.data.experimental.to_variant(tf.data.Dataset.range(2))
    slow = tf.raw_ops.SleepDataset(input_dataset=two, sleep_microseconds=length_us, **kind)
    # The op also sleeps before the end of its data; `take` ends the data before that.
    one = tf.raw_ops.TakeDataset(input_dataset=slow, count=tf.constant(1, tf.int64), **kind)
    (element,) = tf.raw_ops.DatasetToSingleElement(dataset=one, **kind)
    return element
