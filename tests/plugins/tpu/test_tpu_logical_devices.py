"""Model parallelism by hand (MPMD): which op runs on which logical core, and what crosses over."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.plugins.tpu.strategies import copies, make_strategy, results

pytestmark = pytest.mark.tf


def _ops_on(strategy, core, replica=0):
    report = strategy.extended.last_expansion
    return report.ops_by_device.get(strategy.extended.core_devices[replica][core], {})


def test_operations_on_an_assigned_tensor_follow_it():
    strategy = make_strategy(2, 2)

    @tf.function
    def run(x):
        def fn(x):
            first = strategy.experimental_assign_to_logical_device(tf.exp(x), 0)
            second = strategy.experimental_assign_to_logical_device(first * 2.0, 1)
            return tf.sin(second) + 1.0

        return strategy.run(fn, args=(x,))

    sweep_results = results(strategy, run(tf.constant(0.5)))
    np.testing.assert_allclose(sweep_results, [np.sin(np.exp(0.5) * 2) + 1] * 2, rtol=1e-6)
    for replica in range(2):
        assert _ops_on(strategy, 0, replica)["Exp"] == 1
        assert _ops_on(strategy, 1, replica)["Mul"] == 1
        assert _ops_on(strategy, 1, replica)["Sin"] == 1
        assert "Sin" not in _ops_on(strategy, 0, replica)


def test_a_model_over_two_cores_with_its_gradients_and_updates():
    strategy = make_strategy(2, 2)
    with strategy.scope():
        first = tf.Variable(np.full((3, 4), 0.5, np.float32))
        with strategy.extended.experimental_logical_device(1):
            second = tf.Variable(np.full((4, 2), 0.25, np.float32))
    assert [v.device for v in second.values] == list(strategy.extended.core_devices[:, 1])

    @tf.function
    def run(x):
        def fn(x):
            with tf.GradientTape() as tape:
                hidden = tf.tanh(x @ first)
                hidden = strategy.experimental_assign_to_logical_device(hidden, 1)
                loss = tf.reduce_sum(tf.square(hidden @ second))
            gradients = tape.gradient(loss, [first, second])
            gradients = tf.distribute.get_replica_context().all_reduce("sum", gradients)
            first.assign_sub(0.1 * gradients[0])
            second.assign_sub(0.1 * gradients[1])
            return loss

        return strategy.run(fn, args=(x,))

    x = np.arange(6, dtype=np.float32).reshape(2, 3) / 10
    run(tf.constant(x))
    w1, w2 = (
        tf.Variable(np.full((3, 4), 0.5, np.float32)),
        tf.Variable(np.full((4, 2), 0.25, np.float32)),
    )
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(tf.tanh(x @ w1) @ w2))
    g1, g2 = tape.gradient(loss, [w1, w2])
    for copy in copies(first):
        np.testing.assert_allclose(copy, w1 - 0.2 * g1, atol=1e-6)
    for copy in copies(second):
        np.testing.assert_allclose(copy, w2 - 0.2 * g2, atol=1e-6)
    assert _ops_on(strategy, 1)["MatMul"] >= 1
    assert _ops_on(strategy, 0)["MatMul"] >= 1
    crossing = [t for t in strategy.extended.last_expansion.transfers if t.reason == "placement"]
    assert any(each.bytes == 2 * 4 * 4 for each in crossing)  # hidden, float32 (2, 4)


def test_ops_in_the_scope_of_a_logical_device():
    strategy = make_strategy(1, 4)

    @tf.function
    def run():
        def fn():
            with strategy.extended.experimental_logical_device(3):
                return tf.cos(tf.zeros([2]))

        return strategy.run(fn)

    run()
    assert _ops_on(strategy, 3)["Cos"] == 1
