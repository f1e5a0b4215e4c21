"""Whole programs under the check: no false alarm, nothing left unchecked."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import tensorflow as tf

from strategy_core import tpu
from strategy_core.recorder import marks
from tests.plugins.tpu.strategies import make_strategy

pytestmark = pytest.mark.tf


def _fit(strategy, num_examples):
    layers = tf.keras.layers
    with strategy.scope():
        model = tf.keras.Sequential(
            [
                layers.Input((8, 8, 3)),
                layers.Conv2D(4, 3, padding="same"),
                layers.BatchNormalization(),
                layers.ReLU(),
                layers.MaxPool2D(),
                layers.Flatten(),
                layers.Dropout(0.3),
                layers.Dense(10),
            ]
        )
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(tf.keras.optimizers.Adam(), loss, metrics=["accuracy"])
    images = np.zeros((num_examples, 8, 8, 3), np.float32)
    data = tf.data.Dataset.from_tensor_slices((images, np.zeros(num_examples, np.int32)))
    model.fit(data.batch(8), verbose=0)


@pytest.mark.parametrize(("replicas", "cores", "spmd"), [(4, 1, False), (2, 2, True)])
def test_keras_fit_with_a_smaller_last_batch(replicas, cores, spmd):
    strategy = make_strategy(replicas, cores, spmd=spmd)
    with warnings.catch_warnings():
        warnings.simplefilter("error", tpu.TPUProgramWarning)
        _fit(strategy, num_examples=20)
    report = strategy.extended.xla.last
    assert report.findings == []
    assert report.unchecked == []
    assert report.num_ops > 100


def test_a_variable_on_another_core():
    strategy = make_strategy(2, 2)
    with strategy.scope():
        variable = tf.Variable(tf.ones([3]))
        with strategy.extended.experimental_logical_device(1):
            elsewhere = tf.Variable(tf.ones([3]))

    def fn():
        variable.assign_add(elsewhere)
        return variable + 1

    with strategy.scope():
        strategy.run(tf.function(fn))
    assert strategy.extended.xla.last.findings == []
    assert strategy.extended.xla.last.unchecked == []


def test_the_recorders_timestamps_are_not_the_programs():
    strategy = make_strategy(2)

    def fn():
        x = tf.constant(1.0) + 1
        return x, tf.stack([marks.clock_s(x), marks.clock_s(x)]), marks.mark(x)

    tf.function(lambda: strategy.run(fn))()
    assert strategy.extended.xla.last.findings == []


def test_a_summary_runs_on_the_host(tmp_path):
    strategy = make_strategy(2)
    writer = tf.summary.create_file_writer(str(tmp_path))

    def fn():
        with writer.as_default(step=1):
            tf.summary.write("value", tf.constant(1.0))
        return tf.constant(2.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tpu.TPUProgramWarning)
        tf.function(lambda: strategy.run(fn))()
    report = strategy.extended.xla.last
    assert {each.op for each in report.of("on_host")} == {"WriteSummary", "FlushSummaryWriter"}
    assert report.of("refused") == []
