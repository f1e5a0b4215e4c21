"""A live change in the same process: state carried over exactly, a refused one leaves no trace."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strategy_profiles.errors import LabError, RunFolderError

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

START: dict[str, Any] = {"devices": "cpu:4", "workload": "digits-mlp", "global_batch_size": 24}


def checksum(training: Any) -> str:
    """Of the current model and optimizer state."""
    from strategy_core.training import state

    return state.checksum(training.take_state())


@pytest.mark.long
def test_twenty_changes_on_rings_in_one_process_neither_abort_nor_lose_a_bit() -> None:
    """Stock strategies abort here: "Shape mismatch in the collective instance"."""
    from tests.strategy_core.in_memory import opened

    training, recorder = opened(**START, cross_device_ops="collective-ring")
    for change in range(20):
        training.run_step()
        devices = ("cpu:2", "cpu:3", "cpu:4")[change % 3]
        training.reconfigure(training.spec.with_changes({"devices": devices}))
    training.run_step()
    assert len(recorder.segments) == 21
    for segment in recorder.segments[1:]:
        assert segment.moved == "same-worker"
        assert segment.state_checksum_before == segment.state_checksum_after


def test_a_run_with_changes_ends_with_the_same_state_as_one_without() -> None:
    """Strategy, replicas and algorithm change; data, optimizer and loss go on."""
    from tests.strategy_core.in_memory import opened, trained

    expected_losses, expected_state = trained(12, **START)
    training, recorder = opened(**START)
    for change in (
        {"devices": "cpu:2"},
        {"strategy": "central-storage"},
        {"strategy": "mirrored", "cross_device_ops": "reduction-to-one-device"},
        {"inject": [{"replica": 1, "ms": 1}]},
    ):
        for _ in range(2):
            training.run_step()
        training.reconfigure(training.spec.with_changes(change))
    for _ in range(4):
        training.run_step()
    np.testing.assert_allclose(recorder.losses, expected_losses, rtol=1e-5)
    for actual, expected in zip(training.take_state(), expected_state, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


def test_batch_norm_statistics_of_three_replicas_carry_over_exactly() -> None:
    """The mean of three equal numbers need not be that number in floating point."""
    from tests.strategy_core.in_memory import opened

    training, recorder = opened(devices="cpu:3", workload="digits-cnn", global_batch_size=24)
    training.run_step()
    training.reconfigure(training.spec.with_changes({"capture.window_steps": 5}))
    assert recorder.segments[1].state_checksum_before == recorder.segments[1].state_checksum_after


def test_another_batch_size_continues_at_the_next_example() -> None:
    from strategy_core.training.input_pipeline import global_batches
    from strategy_core.training.workload import load
    from tests.strategy_core.in_memory import opened

    training, _ = opened(**START)
    for _ in range(3):
        training.run_step()
    training.reconfigure(training.spec.with_changes({"global_batch_size": 40}))
    batch, _ = next(training._current.custom.batches)
    first = training._current.strategy.experimental_local_results(batch[0])[0]
    spec = training.spec.with_changes({"global_batch_size": 4})
    stream, _ = global_batches(spec, load("digits-mlp"), 72)
    np.testing.assert_array_equal(first[:4], next(iter(stream))[0])


def test_the_learning_rate_changes_and_the_state_does_not() -> None:
    from tests.strategy_core.in_memory import opened

    training, recorder = opened(**START)
    training.run_step()
    training.reconfigure(training.spec.with_changes({"learning_rate": 0.5}))
    assert training._current.optimizer.learning_rate.numpy() == 0.5
    assert recorder.segments[1].state_checksum_before == recorder.segments[1].state_checksum_after


@pytest.mark.long(keep=2)
@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"global_batch_size": 25}, "batch_size=25 cannot be shared equally"),
        ({"devices": "gpu:1"}, "needs a GPU"),
        ({"strategy": "parameter-server"}, "cannot be built: ValueError: Cluster spec"),
        ({"cross_device_ops": "nccl"}, "NCCL works on GPUs only"),
        ({"workload_options.hidden": 7}, "does not fit this model"),
    ],
)
def test_a_refused_change_leaves_the_run_as_it_was(changes: dict[str, Any], rule: str) -> None:
    from tests.strategy_core.in_memory import opened

    training, recorder = opened(**START)
    training.run_step()
    before = checksum(training)
    with pytest.raises(LabError, match=rule):
        training.reconfigure(training.spec.with_changes(changes))
    assert checksum(training) == before
    assert len(recorder.segments) == 1
    training.run_step()
    assert training.step == 2


DRAWS = """
import random
from pathlib import Path
import keras, numpy as np, tensorflow as tf

def build_model():
    drawn = random.random(), float(np.random.rand()), DRAWN
    with Path(__file__).with_suffix(".txt").open("a") as file:
        print(*drawn, file=file)
    return keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])

def build_dataset(global_batch_size, seed):
    numbers = tf.zeros((global_batch_size, 2)), tf.zeros((global_batch_size,), tf.int32)
    return tf.data.Dataset.from_tensors(numbers).repeat()
"""


@pytest.mark.parametrize("drawn", ["0.0", "float(tf.random.normal(()))"])
def test_a_model_that_is_built_again_draws_the_same_numbers(tmp_path: Path, drawn: str) -> None:
    """What it draws need not be a variable, and is no part of the state that is carried over."""
    from tests.strategy_core.in_memory import opened

    file = tmp_path / "draws.py"
    file.write_text(DRAWS.replace("DRAWN", drawn))
    training, _ = opened(devices="cpu:2", workload=str(file), global_batch_size=4)
    for devices in ("cpu:4", "cpu:1"):
        training.run_step()
        training.reconfigure(training.spec.with_changes({"devices": devices}))
    assert training._current.drew_seeds is (drawn != "0.0")
    first, *others = file.with_suffix(".txt").read_text().splitlines()
    assert others == [first, first]


FAILS_LATER = """
import keras, tensorflow as tf

class Narrow(keras.layers.Layer):
    def call(self, inputs):
        {in_layer}
        return inputs

def build_model():
    return keras.Sequential([keras.Input((2,)), Narrow(), keras.layers.Dense(2)])

def build_dataset(global_batch_size, seed):
    numbers = tf.zeros((global_batch_size, 2)), tf.zeros((global_batch_size,), tf.int32)
    return tf.data.Dataset.from_tensors(numbers).repeat()

def loss_fn(labels, outputs):
    {in_loss}
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
"""
ONE_EACH = "if {}.shape[0] == 1: raise {}"
FAILURES = {
    "no memory": {"in_loss": ONE_EACH.format("outputs", "MemoryError('no room for it')")},
    "no such key": {"in_loss": ONE_EACH.format("outputs", "KeyError('no room for it')")},
    "in a layer": {"in_layer": ONE_EACH.format("inputs", "RuntimeError('no room for it')")},
    "on the device": {
        "in_loss": "tf.debugging.assert_greater(tf.shape(outputs)[0], 1, 'no room for it')"
    },
}


@pytest.mark.long(keep=2)
@pytest.mark.parametrize("where", FAILURES)
def test_a_change_whose_first_step_fails_is_reverted(tmp_path: Path, where: str) -> None:
    from tests.strategy_core.in_memory import opened

    file = tmp_path / "fails_later.py"
    file.write_text(FAILS_LATER.format(**{"in_layer": "pass", "in_loss": "pass"} | FAILURES[where]))
    training, recorder = opened(devices="cpu:2", workload=str(file), global_batch_size=4)
    training.run_step()
    before = checksum(training)
    training.reconfigure(training.spec.with_changes({"devices": "cpu:4"}))
    with pytest.raises(LabError, match="no room for it"):
        training.run_step()
    assert checksum(training) == before
    assert [segment.num_replicas for segment in recorder.segments] == [2, 4, 2]
    training.run_step()
    assert training.step == 2


def test_a_full_disk_does_not_revert_a_change() -> None:
    from tests.strategy_core.in_memory import opened

    training, recorder = opened(**START)
    training.run_step()
    training.reconfigure(training.spec.with_changes({"devices": "cpu:2"}))

    def refuse(**_: Any) -> None:
        raise RunFolderError("An event cannot be written: no space left on device")

    recorder.result = refuse  # type: ignore[method-assign]
    with pytest.raises(RunFolderError, match="no space left"):
        training.run_step()
    assert len(recorder.segments) == 2, "there is nothing to go back for"


@pytest.mark.long(keep=1)
@pytest.mark.parametrize(
    "change", [{"inject": [{"replica": 1, "ms": 1}]}, {"global_batch_size": 8}]
)
def test_a_failed_change_on_the_same_variables_is_reverted(
    change: dict[str, Any],
) -> None:
    """The failed step had its batch, and updated the variables before it failed."""
    from tests.strategy_core.in_memory import opened, trained

    expected_losses, expected_state = trained(4, **START)
    training, recorder = opened(**START)
    for _ in range(2):
        training.run_step()
    model = training._current.model
    before = checksum(training)
    training.reconfigure(training.spec.with_changes(change))
    assert training._current.model is model
    loop = training._current.custom
    step = loop.step

    def fail_afterwards(*args: Any) -> Any:
        step(*args)
        raise MemoryError("no room for it")

    loop.step = fail_afterwards
    with pytest.raises(LabError, match="no room for it"):
        training.run_step()
    assert checksum(training) == before
    for _ in range(2):
        training.run_step()
    np.testing.assert_allclose(recorder.losses, expected_losses, rtol=1e-5)
    for actual, expected in zip(training.take_state(), expected_state, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


def test_a_checkpoint_continues_at_the_next_batch(tmp_path: Path) -> None:
    from strategy_core.training.trainer import Training
    from tests.strategy_core.in_memory import InMemoryRecorder, opened

    training, recorder = opened(**START)
    for _ in range(3):
        training.run_step()
    training.save(tmp_path / "checkpoint")
    resumed_recorder = InMemoryRecorder()
    resumed = Training(training.spec, resumed_recorder, resume=tmp_path / "checkpoint")
    resumed.open()
    training.run_step()
    resumed.run_step()
    assert resumed_recorder.losses == recorder.losses[3:]
    assert resumed.step == 4
    segment = resumed_recorder.segments[0]
    assert (segment.segment, segment.first_step, segment.moved) == (1, 3, "fresh-worker")
    assert segment.state_checksum_before == segment.state_checksum_after


def test_a_broken_checkpoint_is_refused(tmp_path: Path) -> None:
    from strategy_core.training import checkpoint
    from tests.strategy_core.in_memory import opened

    training, _ = opened(**START)
    training.save(tmp_path / "checkpoint")
    archive = tmp_path / "checkpoint" / "state.npz"
    archive.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(LabError, match=r"checkpoint .*checkpoint cannot be read"):
        checkpoint.load(tmp_path / "checkpoint")


def test_the_previous_checkpoint_stays_until_the_next_one_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strategy_core.training import checkpoint, state

    path, kept = tmp_path / "checkpoint", [np.ones(3, np.float32)]

    def save(step: int) -> None:
        checkpoint.save(path, checkpoint.Checkpoint(kept, step, 8, 1, state.checksum(kept)))

    save(1)
    seen = []
    remove = shutil.rmtree

    def look_and_remove(folder: Path, *, ignore_errors: bool) -> None:
        seen.append(checkpoint.load(path).step)
        remove(folder, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", look_and_remove)
    save(2)
    assert seen == [1, 1, 2], "whenever something is removed, one is there"
    assert [left.name for left in tmp_path.iterdir()] == ["checkpoint"]
