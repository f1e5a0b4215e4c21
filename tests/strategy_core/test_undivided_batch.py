"""Which tensors that every replica gets are a batch that each of them uses as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

NUM_EXAMPLES = 24


@pytest.mark.parametrize(
    ("use", "examples"),
    [
        (lambda x, _: x * 2.0, NUM_EXAMPLES),
        (lambda x, _: x[:, 1] + x[:, 0], NUM_EXAMPLES),
        (lambda x, _: (x[:4], x + 1.0), NUM_EXAMPLES),
        (lambda x, _: x[:4], None),
        (lambda x, _: (x[0:][:12], x[12:][:12]), None),
        (lambda x, rows: x[rows[0] : rows[1]], None),
    ],
    ids=[
        "all",
        "columns",
        "some rows and all",
        "some rows",
        "a part for each",
        "rows that the graph does not tell",
    ],
)
def test_a_batch_of_which_a_replica_takes_rows_is_divided(
    use: Callable[[Any, Any], Any], examples: int | None
) -> None:
    import tensorflow as tf

    from strategy_core.tracing.undivided import undivided_examples

    given: list[Any] = []

    @tf.function
    def step(x: Any, rows: Any) -> Any:
        given[:] = [x]
        return use(x, rows)

    step.get_concrete_function(tf.zeros([NUM_EXAMPLES, 3]), tf.zeros([2], tf.int32))
    assert undivided_examples(given) == examples


def test_numbers_of_rows_are_a_batch_and_a_table_that_they_name_rows_of_is_not() -> None:
    import tensorflow as tf

    from strategy_core.tracing.undivided import undivided_examples

    given: list[Any] = []

    @tf.function
    def step(table: Any, rows: Any) -> Any:
        given[:] = [table, rows]
        return tf.gather(table, rows)

    step.get_concrete_function(tf.zeros([1000, 3]), tf.zeros([NUM_EXAMPLES], tf.int32))
    assert undivided_examples(given) == NUM_EXAMPLES


def test_values_that_are_one_tensor_on_each_replica_are_a_batch_that_is_not_divided() -> None:
    import tensorflow as tf

    from strategy_core.tracing.undivided import same_for_all

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    spread = strategy.experimental_distribute_values_from_function
    shared, one = tf.zeros([NUM_EXAMPLES, 3]), tf.zeros([])
    whole, number = spread(lambda _: shared), spread(lambda _: one)
    own = spread(lambda context: shared[context.replica_id_in_sync_group :: 2])
    assert same_for_all(((whole, {"y": whole}), {})) == NUM_EXAMPLES
    assert same_for_all(((whole, own), {})) is None, "what all replicas get may be a table"
    assert same_for_all(((number, shared, {1: 2, "a": 3}), {})) is None


def test_shapes_that_differ_among_the_replicas_are_named() -> None:
    import tensorflow as tf

    from strategy_core.tracing.undivided import unlike_on_replicas

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    spread = strategy.experimental_distribute_values_from_function
    lengths = spread(lambda context: tf.zeros([4, 3 + 9 * context.replica_id_in_sync_group]))
    alike = spread(lambda _: tf.zeros([4, 5]))
    named = "float32 (4, 12) on replica 1, (4, 3) on replica 0"
    assert unlike_on_replicas(((alike, {"x": lengths}), {})) == named
    assert unlike_on_replicas(((alike, tf.zeros([2])), {})) is None
