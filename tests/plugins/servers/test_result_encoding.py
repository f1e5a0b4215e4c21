"""Numbers in a closure's answer: exact, and with nothing left to fetch."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

NUMBERS = [256, 0, 2**32 - 1, 1_800_000_000_123_456_789, 2**62, 1]


def test_numbers_are_decoded_unchanged_from_an_empty_tensor() -> None:
    import tensorflow as tf

    from strategy_servers.result_encoding import Answer, carry

    @tf.function
    def closure() -> object:
        return carry(tf.constant(NUMBERS, tf.int64))

    carried = closure()
    assert carried.empty.shape.num_elements() == 0
    answer = tf.identity(carried)  # what TensorFlow does to bring a result to the coordinator
    assert isinstance(answer, Answer)
    assert answer.empty is carried.empty, "it was copied"
    assert answer.numbers == NUMBERS
    assert "CPU:0" in answer.device


def test_an_answer_with_any_numbers_can_be_printed() -> None:
    import tensorflow as tf

    from strategy_servers.result_encoding import carry

    assert "arrived_ns" in repr(tf.identity(carry(tf.constant(NUMBERS, tf.int64))))
