"""What the graph of a worker's step says of the variables that it reads as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_core.tracing.whole_reads import whole_reads

pytestmark = pytest.mark.tf


def reads_of(function: Any, *args: Any) -> list[tuple[str, int, bool]]:
    import tensorflow as tf

    graph = tf.function(function).get_concrete_function(*args).graph
    return [(read.name, read.bytes, read.is_updated) for read in whole_reads(graph)]


def test_a_table_that_is_normalized_before_its_rows_are_gathered_is_read_as_a_whole() -> None:
    import tensorflow as tf

    table = tf.Variable(tf.ones((100, 8)), name="table")
    scale = tf.Variable(1.0, name="scale")

    def step(ids: Any) -> Any:
        with tf.GradientTape() as tape:
            rows = tf.gather(tf.nn.l2_normalize(table, axis=1), ids)
            loss = scale * tf.reduce_sum(rows)
        table.assign_sub(tape.gradient(loss, table))
        return loss

    assert reads_of(step, tf.constant([1, 2])) == [("table", 3200, True), ("scale", 4, False)]


def test_a_table_whose_rows_are_gathered_is_not_read_as_a_whole() -> None:
    import tensorflow as tf

    table = tf.Variable(tf.ones((100, 8)), name="table")

    def step(ids: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.l2_normalize(tf.gather(table, ids), axis=1))
        table.scatter_sub(tape.gradient(loss, table))
        return loss

    assert reads_of(step, tf.constant([1, 2])) == []


def test_a_table_that_is_read_as_a_whole_and_changed_by_rows_is_not_sent_back() -> None:
    import tensorflow as tf

    table = tf.Variable(tf.ones((100, 8)), name="table")

    def step(ids: Any) -> Any:
        penalty = tf.reduce_sum(table**2)
        table.scatter_sub(tf.IndexedSlices(tf.ones((2, 8)), ids))
        return penalty

    assert reads_of(step, tf.constant([1, 2])) == [("table", 3200, False)]
