"""A replica that takes its own examples for the global batch: its graph says so."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.tf


@pytest.mark.parametrize(
    ("own", "global_batch", "found"), [(64, 64, 64), (16, 64, None), (None, 64, None), (1, 1, None)]
)
def test_losses_that_are_divided_by_their_number_are_found(
    own: int | None, global_batch: int, found: int | None
) -> None:
    import tensorflow as tf

    from strategy_core.tracing.own_batch import own_batch

    @tf.function
    def step(losses):  # type: ignore[no-untyped-def]
        return tf.nn.compute_average_loss(losses, global_batch_size=global_batch)

    graph = step.get_concrete_function(tf.TensorSpec([own])).graph
    result = own_batch(graph)
    assert (result and result[0]) == found
    if result is not None:
        assert (result[1] or "").startswith("test_own_batch.py:")


def test_the_mean_of_a_replica_is_no_global_batch() -> None:
    import tensorflow as tf

    from strategy_core.tracing.own_batch import own_batch

    @tf.function
    def step(losses):  # type: ignore[no-untyped-def]
        return tf.reduce_mean(losses) + tf.reduce_sum(losses) / 64

    assert own_batch(step.get_concrete_function(tf.TensorSpec([64])).graph) is None
