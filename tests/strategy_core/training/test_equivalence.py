"""Every synchronous strategy gives the loss and the weights of one device.

The stated tolerance: 1e-5 relative for each of ten losses, 1e-6 absolute for every number of model
and optimizer state after them. Sums in another order differ by about 1e-7 here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

STEPS = 10
ALGORITHMS = ("auto", "collective-ring", "reduction-to-one-device", "hierarchical-copy")
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "one-device": {"strategy": "one-device", "devices": "cpu:1"},
    "mirrored-1": {"strategy": "mirrored", "devices": "cpu:1"},
    "mirrored-3": {"strategy": "mirrored", "devices": "cpu:3"},
    "central-storage-4": {"strategy": "central-storage", "devices": "cpu:4"},
} | {
    f"mirrored-4-{algorithm}": {
        "strategy": "mirrored",
        "devices": "cpu:4",
        "cross_device_ops": algorithm,
    }
    for algorithm in ALGORITHMS
}
WORKLOADS: dict[str, dict[str, Any]] = {
    "digits-mlp": {},
    "digits-cnn": {"batch_norm": False},
    "embedding": {"vocabulary": 4096},
}


@pytest.fixture(scope="module")
def one_device() -> dict[str, Any]:
    from tests.strategy_core.in_memory import trained

    return {
        workload: trained(
            STEPS,
            strategy="default",
            workload=workload,
            workload_options=options,
            global_batch_size=24,
        )
        for workload, options in WORKLOADS.items()
    }


@pytest.mark.long(keep=6)
@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_a_strategy_trains_like_one_device(
    workload: str, configuration: str, one_device: dict[str, Any]
) -> None:
    from tests.strategy_core.in_memory import trained

    losses, state = trained(
        STEPS,
        workload=workload,
        workload_options=WORKLOADS[workload],
        global_batch_size=24,
        **CONFIGURATIONS[configuration],
    )
    expected_losses, expected_state = one_device[workload]
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    for actual, expected in zip(state, expected_state, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)
    assert losses[-1] < losses[0]


def test_batch_norm_differs_by_design_since_each_replica_normalizes_its_own_part() -> None:
    from tests.strategy_core.in_memory import trained

    common = {"workload": "digits-cnn", "global_batch_size": 24}
    alone, _ = trained(STEPS, strategy="default", **common)
    mirrored, _ = trained(STEPS, strategy="mirrored", devices="cpu:4", **common)
    central, _ = trained(STEPS, strategy="central-storage", devices="cpu:4", **common)
    assert abs(alone[0] - mirrored[0]) > 1e-5 * alone[0]
    np.testing.assert_allclose(mirrored, central, rtol=1e-5)


PARTIAL = """
import keras, numpy as np, tensorflow as tf

def build_model():
    return keras.Sequential([keras.Input((5,)), keras.layers.Dense(3, kernel_regularizer="l2")])

def build_dataset(global_batch_size, seed):
    numbers = np.random.default_rng(seed).normal(size=(20, 5)).astype("float32")
    labels = np.arange(20, dtype="int32") % 3
    return tf.data.Dataset.from_tensor_slices((numbers, labels)).batch(global_batch_size)

def build_optimizer():
    return keras.optimizers.SGD(0.5, clipnorm=0.1)
"""


@pytest.mark.parametrize("strategy", ["mirrored", "central-storage"])
def test_a_last_partial_batch_clipping_and_regularization_are_those_of_one_device(
    strategy: str, tmp_path: Path
) -> None:
    from tests.strategy_core.in_memory import opened, trained

    file = tmp_path / "partial.py"
    file.write_text(PARTIAL)
    common = {"workload": str(file), "global_batch_size": 9}
    expected_losses, expected_state = trained(6, strategy="default", **common)

    training, recorder = opened(strategy=strategy, devices="cpu:3", **common)
    for _ in range(6):
        training.run_step()

    assert recorder.examples == [9, 9, 2, 9, 9, 2]  # 20 examples an epoch; one replica gets none
    np.testing.assert_allclose(recorder.losses, expected_losses, rtol=1e-5)
    for actual, expected in zip(training.take_state(), expected_state, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("loop", ["custom", "fit"])
def test_a_change_after_a_partial_batch_continues_at_the_next_example(
    loop: str, tmp_path: Path
) -> None:
    """Other variables, so the data are made again: from the example, not from so many batches."""
    from tests.strategy_core.in_memory import opened, run_steps, trained

    file = tmp_path / "partial.py"
    file.write_text(PARTIAL)
    common = {"workload": str(file), "global_batch_size": 9, "loop": loop, "devices": "cpu:3"}
    expected_losses, _ = trained(9, **common)
    training, recorder = opened(**common)
    for strategy in ("central-storage", "mirrored"):
        run_steps(training, 3)
        training.reconfigure(training.spec.with_changes({"strategy": strategy}))
    run_steps(training, 3)
    training.close()
    assert recorder.examples == [9, 9, 2] * 3
    whole = np.array(recorder.examples) == 9  # of others, `fit` tells a mean of the replicas'
    losses, expected = np.array(recorder.losses), np.array(expected_losses)
    np.testing.assert_allclose(losses[whole], expected[whole], rtol=1e-5)
