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


def test_a_variable_that_the_body_of_a_loop_reads_is_read_in_each_turn() -> None:
    import tensorflow as tf

    kernel = tf.Variable(tf.ones((8, 8)), name="kernel")

    def step(state: Any, *, once: bool) -> Any:
        value = tf.identity(kernel) if once else kernel
        with tf.GradientTape() as tape:
            tape.watch(value)
            _, last = tf.while_loop(
                lambda turn, _: turn < 5,
                lambda turn, state: (turn + 1, tf.tanh(tf.matmul(state, value))),
                [tf.constant(0), state],
            )
            loss = tf.reduce_sum(last)
        return tape.gradient(loss, value)

    for once in (False, True):
        graph = tf.function(step).get_concrete_function(tf.ones((4, 8)), once=once).graph
        (read,) = whole_reads(graph)
        assert (read.name, read.bytes, read.in_loop) == ("kernel", 256, not once)


def test_a_table_that_is_read_as_a_whole_and_changed_by_rows_is_not_sent_back() -> None:
    import tensorflow as tf

    table = tf.Variable(tf.ones((100, 8)), name="table")

    def step(ids: Any) -> Any:
        penalty = tf.reduce_sum(table**2)
        table.scatter_sub(tf.IndexedSlices(tf.ones((2, 8)), ids))
        return penalty

    assert reads_of(step, tf.constant([1, 2])) == [("table", 3200, False)]
