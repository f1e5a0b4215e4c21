"""Training on emulated cores is training on one device: four models, every shape, both modes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.plugins.tpu.models import BATCH, MODELS
from tests.plugins.tpu.strategies import copies, make_strategy, values

pytestmark = pytest.mark.tf

STEPS, RATE = 3, 0.1
SHAPES = [(8, 1), (4, 2), (2, 4), (1, 8)]


@cache
def on_one_device(name: str) -> list[Any]:
    model = MODELS[name]
    weights = model.weights()

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = model.loss(weights, model.inputs, model.labels)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(RATE * tf.convert_to_tensor(gradient))

    for _ in range(STEPS):
        step()
    return [weight.numpy() for weight in weights]


def on_cores(strategy: Any, name: str, num_cores: int) -> list[list[Any]]:
    """Every copy of every weight after the same steps."""
    model = MODELS[name]
    with strategy.scope():
        weights = model.weights()

    def replica_step(inputs, labels):
        inputs = strategy.experimental_split_to_logical_devices(inputs, model.splits[num_cores])
        with tf.GradientTape() as tape:
            loss = model.loss(weights, inputs, labels)
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, weights)]
        gradients = tf.distribute.get_replica_context().all_reduce("sum", gradients)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.assign_sub(RATE * gradient)

    shares = strategy.num_replicas_in_sync
    inputs = values(
        strategy, model.inputs.reshape(shares, BATCH // shares, *model.inputs.shape[1:])
    )
    labels = values(strategy, model.labels.reshape(shares, BATCH // shares))
    step = tf.function(lambda x, y: strategy.run(replica_step, args=(x, y)))
    for _ in range(STEPS):
        step(inputs, labels)
    return [copies(weight) for weight in weights]


@pytest.mark.long(keep=8)
@pytest.mark.parametrize("spmd", [False, True], ids=["mpmd", "spmd"])
@pytest.mark.parametrize(("num_replicas", "num_cores"), SHAPES, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_training_equals_that_of_one_device(name, num_replicas, num_cores, spmd):
    strategy = make_strategy(num_replicas, num_cores, spmd)
    trained = on_cores(strategy, name, num_cores)
    for expected, actual in zip(on_one_device(name), trained, strict=True):
        np.testing.assert_allclose(actual[0], expected, atol=1e-6)
        for copy in actual[1:]:
            np.testing.assert_array_equal(copy, actual[0])
        assert len(actual) == num_replicas * (num_cores if spmd else 1)
    report = strategy.extended.last_expansion
    assert report.fallbacks == []
    if num_cores > 1:
        assert sum(report.partitioned.values()) > 0


@pytest.mark.parametrize(("num_replicas", "num_cores"), [(8, 1), (2, 4)])
def test_two_runs_are_the_same_bit_for_bit(num_replicas, num_cores):
    first, second = (
        on_cores(make_strategy(num_replicas, num_cores, spmd=True), "cnn", num_cores)
        for _ in range(2)
    )
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a[0], b[0])
