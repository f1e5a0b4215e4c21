"""Keras `fit` is the same training as the custom loop, and obeys between two batches."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from strategy_profiles.errors import SpecError

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

COMMON: dict[str, Any] = {"workload": "digits-mlp", "global_batch_size": 24, "devices": "cpu:4"}


def fit_threads() -> int:
    return sum(thread.name == "keras-fit" for thread in threading.enumerate())


@pytest.mark.parametrize("strategy", ["mirrored", "central-storage"])
def test_fit_gives_the_losses_and_weights_of_the_custom_loop(strategy: str) -> None:
    from tests.strategy_core.in_memory import trained

    losses, state = trained(6, strategy=strategy, loop="fit", **COMMON)
    expected_losses, expected_state = trained(6, strategy=strategy, **COMMON)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    for actual, expected in zip(state, expected_state, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("strategy", "devices"),
    [("mirrored", "cpu:4"), ("central-storage", "cpu:2"), ("default", "cpu:1"), ("tpu", "cpu:4")],
)
def test_marks_show_which_replica_of_fit_is_late(strategy: str, devices: str) -> None:
    """Three marks per replica on every step, as in the custom loop; a delay is in its compute."""
    from tests.strategy_core.in_memory import opened

    late = int(devices[-1]) - 1
    spec = COMMON | {"devices": devices, "inject": [{"replica": late, "ms": 40.0}]}
    training, recorder = opened(strategy=strategy, loop="fit", **spec)
    for _ in range(6):
        training.run_step()
    training.close()
    steps = np.stack(recorder.marks)[1:] / 1e6  # the first step traces
    assert steps.shape == (5, late + 1, 3)
    compute = np.median(steps[:, :, 1] - steps[:, :, 0], axis=0)
    assert compute[late] > 38
    assert compute.argmax() == late
    waits = np.median(steps[:, :, 2] - steps[:, :, 1], axis=0)
    assert (waits[:late] > 25).all(), "the others wait for it"


def test_fit_records_no_marks_if_they_are_off() -> None:
    from tests.strategy_core.in_memory import opened

    training, recorder = opened(loop="fit", capture={"marks": False}, **COMMON)
    training.run_step()
    training.close()
    assert recorder.marks == [None]


def test_a_run_changes_into_fit_and_out_of_it_with_its_state() -> None:
    from tests.strategy_core.in_memory import opened, trained

    expected, _ = trained(6, **COMMON)
    training, recorder = opened(**COMMON)
    for change in ({"loop": "fit"}, {"devices": "cpu:2"}, {"loop": "custom"}):
        for _ in range(2):
            training.run_step()
        training.reconfigure(training.spec.with_changes(change))
    assert fit_threads() == 1
    training.run_step()
    assert fit_threads() == 0
    np.testing.assert_allclose(recorder.losses[:6], expected, rtol=1e-5)
    for segment in recorder.segments[1:]:
        assert segment.state_checksum_before == segment.state_checksum_after


def test_an_error_in_fit_is_raised_by_the_step(tmp_path: Any) -> None:
    from tests.strategy_core.in_memory import trained
    from tests.strategy_core.training.test_user_files import GOOD, OWN_STEP, workload_file

    own = workload_file(tmp_path, GOOD + OWN_STEP)
    with pytest.raises(SpecError, match=r"fit cannot use the train_step of mine.py"):
        trained(1, workload=own, global_batch_size=8, devices="cpu:2", loop="fit")
    bad = workload_file(tmp_path, GOOD + "\ndef loss_fn(labels, outputs):\n    return undefined\n")
    with pytest.raises(SpecError, match="NameError"):
        trained(1, workload=bad, global_batch_size=8, devices="cpu:2", loop="fit")
