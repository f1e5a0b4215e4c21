"""The built-in workloads run, learn, and are what they say; their stream starts anywhere."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from strategy_profiles.errors import SpecError

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

SMALL: dict[str, dict[str, Any]] = {
    "digits-mlp": {},
    "digits-cnn": {},
    "tiny-gpt": {"context": 16, "width": 16, "heads": 2, "layers": 1},
    "embedding": {"vocabulary": 1024, "width": 8},
    "synthetic": {"parameters": 20_000, "flops_per_example": 120_000},
}


@pytest.mark.parametrize("workload", SMALL)
def test_a_workload_learns(workload: str) -> None:
    from tests.strategy_core.in_memory import trained

    losses, _ = trained(
        25,
        devices="cpu:2",
        workload=workload,
        workload_options=SMALL[workload] | {"learning_rate": 0.01},
        global_batch_size=64,
    )
    assert np.mean(losses[-5:]) < np.mean(losses[:5])


def test_resnet50_has_the_published_architecture() -> None:
    from strategy_core.training.workload import load

    model = load("resnet50", {"image_size": 32}).build_model()
    assert model.count_params() > 23_000_000
    assert model.input_shape == (None, 32, 32, 3)


def test_gradients_of_the_embedding_are_sparse() -> None:
    import tensorflow as tf

    from strategy_core.training.workload import load

    model = load("embedding", {"vocabulary": 512}).build_model()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(tf.ones((2, 32), tf.int32)))
    gradients = tape.gradient(loss, model.trainable_variables)
    assert [isinstance(g, tf.IndexedSlices) for g in gradients] == [True, False, False]


@pytest.mark.parametrize("parameters", [10_000, 1_000_000])
def test_synthetic_has_the_requested_parameters_and_flops(parameters: int) -> None:
    from strategy_core.training.workload import load

    once, thrice = (
        load(
            "synthetic", {"parameters": parameters, "flops_per_example": 6 * parameters * times}
        ).build_model()
        for times in (1, 3)
    )
    assert once.count_params() == thrice.count_params() == pytest.approx(parameters, rel=0.05)
    # Four square layers, each applied as often as it takes, between the first and the last.
    assert num_matmuls(once) == 2 + 4
    square = parameters - (64 + 4 + 2) * once.layers[1].units
    assert num_matmuls(thrice) == 2 + 4 * round(3 * parameters / square)


def num_matmuls(model: Any) -> int:
    import tensorflow as tf

    graph = tf.function(model).get_concrete_function(tf.TensorSpec((1, 64))).graph
    return sum(op.type == "MatMul" for op in graph.get_operations())


def test_batch_norm_statistics_are_sync_on_read() -> None:
    import tensorflow as tf

    from tests.strategy_core.in_memory import opened

    training, _ = opened(devices="cpu:2", workload="digits-cnn", global_batch_size=8)
    statistics = training._current.model.non_trainable_variables
    assert len(statistics) == 4
    for variable in statistics:
        assert variable.value.synchronization == tf.VariableSynchronization.ON_READ
        assert variable.value.aggregation == tf.VariableAggregation.MEAN


def test_an_epoch_is_a_permutation_and_the_next_one_another() -> None:
    from strategy_core.data.shuffle import shuffled_indices

    numbers = np.concatenate(list(shuffled_indices(50, 10, seed=3).take(10)))
    assert sorted(numbers[:50]) == sorted(numbers[50:]) == list(range(50))
    assert list(numbers[:50]) != list(numbers[50:])
    other = np.concatenate(list(shuffled_indices(50, 10, seed=4).take(5)))
    assert list(other) != list(numbers[:50])


def test_a_stream_starts_anywhere_whatever_the_batch() -> None:
    from strategy_core.data.shuffle import shuffled_indices

    whole = np.concatenate(list(shuffled_indices(50, 10, seed=3).take(12)))
    late = np.concatenate(list(shuffled_indices(50, 7, seed=3, first_example=33).take(4)))
    np.testing.assert_array_equal(late, whole[33:61])
    with pytest.raises(SpecError, match="global_batch_size=51 is more than the 50 examples"):
        shuffled_indices(50, 51, seed=3)


def test_synthetic_takes_as_long_to_read_a_batch_as_asked() -> None:
    from strategy_core.training.workload import load

    slow = load("synthetic", {"read_ms": 60.0}).build_dataset(8, 0)
    other = iter(load("synthetic", {}).build_dataset(8, 0))
    started = time.monotonic()
    reader = iter(slow)  # which may read ahead from now on
    for _ in range(4):
        features, _ = next(reader)
    assert time.monotonic() - started >= 4 * 0.06
    for _ in range(4):
        expected, _ = next(other)
    np.testing.assert_array_equal(features, expected)
