"""Whether a function without a tape trains is read from its graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

from strategy_core.tracing.assigned import updates_by_itself
from strategy_core.tracing.units import Unit

pytestmark = pytest.mark.tf


def is_training(function: Callable[..., Any], *args: Any) -> bool:
    import tensorflow as tf

    graph = tf.function(function).get_concrete_function(*args).graph
    unit = Unit("step", "train.py:3")
    unit.graph = weakref.ref(graph)
    return updates_by_itself(unit)


def test_a_step_with_gradients_written_by_hand_trains() -> None:
    import tensorflow as tf

    table, bias = tf.Variable(tf.ones((100, 8))), tf.Variable(0.5)

    def dense(x: Any) -> None:
        bias.assign_sub(0.1 * tf.reduce_mean(bias * x - 1.0))

    def rows(ids: Any) -> None:
        change = 0.1 * tf.gather(tf.nn.l2_normalize(table, axis=1), ids)
        table.scatter_sub(tf.IndexedSlices(change, ids))

    assert is_training(dense, tf.ones(4))
    assert is_training(rows, tf.constant([1, 2]))


def test_an_evaluation_with_a_metric_and_a_counter_does_not_train() -> None:
    import tensorflow as tf

    weight, total, count = tf.Variable(2.0), tf.Variable(0.0), tf.Variable(0)

    def evaluate(x: Any) -> Any:
        total.assign_add(tf.reduce_sum(weight * x))
        count.assign(count + 1)
        return total / tf.cast(count, tf.float32)

    assert not is_training(evaluate, tf.ones(4))
