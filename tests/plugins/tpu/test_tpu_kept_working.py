"""What worked on the emulation when it was reviewed, and must go on working."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.plugins.tpu.strategies import make_strategy, results

pytestmark = pytest.mark.tf


def test_keras_ctc_loss_equals_that_of_one_device():
    labels, logits = tf.constant([[1, 2]]), tf.reshape(tf.range(16.0) / 7, [1, 4, 4])
    strategy = make_strategy(2)
    loss = tf.keras.losses.CTC(reduction="sum")  # a mean would be scaled by the replicas
    outputs = tf.function(lambda: strategy.run(lambda: loss(labels, logits)))()
    for each in results(strategy, outputs):
        np.testing.assert_allclose(each, loss(labels, logits), rtol=1e-6)


@pytest.mark.parametrize("kind", ["ragged", "sparse"])
def test_ragged_and_sparse_batches_that_stay_on_the_host_are_read(kind: str):
    strategy = make_strategy(2)
    rows = tf.ragged.constant([[1.0], [2.0, 3.0], [4.0], [5.0, 6.0]])
    data = tf.data.Dataset.from_tensor_slices(rows if kind == "ragged" else rows.to_sparse())
    options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    batches = strategy.experimental_distribute_dataset(data.batch(4), options)

    @tf.function
    def total(batch):
        def replica(part):
            return tf.reduce_sum(part) if kind == "ragged" else tf.sparse.reduce_sum(part)

        return strategy.reduce("SUM", strategy.run(replica, args=(batch,)), axis=None)

    assert total(next(iter(batches))).numpy() == pytest.approx(21.0)


def test_a_bfloat16_step_has_the_loss_of_one_device():
    weights = tf.cast(tf.reshape(tf.range(12.0), [4, 3]) / 10, tf.bfloat16)
    examples = tf.cast(tf.reshape(tf.range(8.0), [2, 4]) / 10, tf.bfloat16)

    def step(part):
        return tf.reduce_sum(tf.matmul(part, weights))

    strategy = make_strategy(2)
    outputs = tf.function(lambda: strategy.run(step, args=(examples,)))()
    for each in strategy.experimental_local_results(outputs):
        assert each.dtype == tf.bfloat16
        # TensorFlow folds constants in graphs: the sum may differ by a rounding of bfloat16.
        assert float(each) == pytest.approx(float(step(examples)), rel=2**-7)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_checkpoint_restores_the_variables_of_all_replicas(tmp_path: Path, is_async: bool):
    strategy = make_strategy(2)
    with strategy.scope():
        variable = tf.Variable(3.0)
    checkpoint = tf.train.Checkpoint(variable=variable)
    options = tf.train.CheckpointOptions(experimental_enable_async_checkpoint=is_async)
    saved = checkpoint.save(str(tmp_path / "state"), options=options)
    checkpoint.sync()
    variable.assign(5.0)
    checkpoint.restore(saved).assert_consumed()
    values = results(strategy, tf.function(lambda: strategy.run(lambda: variable + 0.0))())
    assert [float(each) for each in values] == [3.0, 3.0]
