"""The texts of TensorFlow's errors about TPUs and their compiler, by which the lab knows them."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from strategy_core.private_tf import error_texts
from strategy_tpu.xla.compile_ir import compile_error
from tests.plugins.tpu.strategies import make_strategy

pytestmark = pytest.mark.tf


def test_what_xla_refuses_names_its_node() -> None:
    @tf.function(jit_compile=True)
    def step(text: tf.Tensor) -> Any:
        return tf.strings.length(text)

    refused = compile_error(step, [tf.TensorSpec([], tf.string)])
    assert refused is not None
    assert not error_texts.XLA_PREFIX.search(refused)
    assert error_texts.XLA_NODE.search(refused), refused


def test_xla_refuses_a_shape_that_depends_on_data() -> None:
    @tf.function(jit_compile=True)
    def step(length: tf.Tensor) -> Any:
        return tf.zeros([length])

    refused = compile_error(step, [tf.TensorSpec([], tf.int32)])
    assert refused is not None
    assert error_texts.XLA_NEEDS_CONSTANT in refused


def test_xla_refuses_the_gradient_of_a_loop_without_a_bound() -> None:
    @tf.function(jit_compile=True)
    def step(times: tf.Tensor, x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, y = tf.while_loop(lambda i, _: i < times, lambda i, y: (i + 1, y * x), (0, 1.0))
        return tape.gradient(y, x)

    refused = compile_error(step, [tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.float32)])
    assert refused is not None
    assert error_texts.XLA_NEEDS_LIST_SIZE in refused


def test_a_step_called_op_by_op_on_a_tpu() -> None:
    """Through the emulation, whose run begins with the check of TensorFlow's own TPUStrategy."""
    strategy = make_strategy(2)
    with pytest.raises(NotImplementedError) as error:
        strategy.run(lambda: tf.constant(1.0))
    assert error_texts.EAGER_STEP_ON_TPU.search(str(error.value)), error
