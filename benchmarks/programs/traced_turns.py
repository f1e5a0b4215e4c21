"""The program of `benchmarks.trace_steps`: it traces itself, and measures itself in turns.

    python -m benchmarks.programs.traced_turns LOOP STEP_MS SECONDS RUN

LOOP is `custom` or `fit`. Prints one line of JSON: the pairs of turns, each turn as a `Turn`. The
session and the hooks are those of `strategy-lab trace`, started here because the program takes them
out and puts them back.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks.measuring.hook_turns import Hooks, HookTurns
from benchmarks.programs.trace_task import WIDTH, new_model, step_of
from strategy_core.processes.parent_death import tie_to
from strategy_core.tracing import hooks, keras_hooks
from strategy_core.tracing.faults import Faults
from strategy_core.tracing.session import Session
from strategy_core.tracing.settings import Settings
from strategy_profiles.run.manifest import create_run_file

BATCHES = (8, 64, 256, 512, 1024, 2048)
CALIBRATION_STEPS = 80
OPENING_STEPS = 100
"""The first window, and what a segment's first steps have beside."""

IsOver = Callable[[], bool]
"""Called after each step: whether it was the last one."""


def main(loop: str, wanted_ms: float, seconds: float, run: Path) -> None:
    tie_to(os.getppid())  # ends with the benchmark, also if that is killed
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    train = {"custom": _custom_loop, "fit": _fit}[loop]
    batch, step_ms = _batch_for(train, wanted_ms)
    create_run_file(run, recorded_by="record")
    session = Session(Settings(str(run), os.getpid(), {}), Faults())
    hooks.install(session)
    keras_hooks.install(session)
    measured: HookTurns | None = None
    num_steps, ends_s = 0, 0.0

    def has_work() -> bool:
        return session.recording is None or session.recording.recorder.has_work

    def is_over() -> bool:
        nonlocal measured, num_steps, ends_s
        num_steps += 1
        if measured is not None:
            measured.step_done()
            return time.monotonic() > ends_s
        if num_steps >= OPENING_STEPS and not has_work():
            measured = HookTurns(Hooks(), step_ms, has_work)
            ends_s = time.monotonic() + seconds
        return False

    train(batch, is_over)
    assert measured is not None
    assert not session.faults.is_over
    print(json.dumps([[dataclasses.asdict(turn) for turn in pair] for pair in measured.pairs()]))
    sys.stdout.flush()
    os._exit(0)  # TensorFlow's own way out takes seconds


def _batch_for(train: Callable[[int, IsOver], None], wanted_ms: float) -> tuple[int, float]:
    """The batch whose steps come nearest to the wanted length, and how long they are."""
    lengths = {}
    for batch in BATCHES:
        ended_s: list[float] = []

        def is_over(ended_s: list[float] = ended_s) -> bool:
            ended_s.append(time.perf_counter())
            return len(ended_s) == CALIBRATION_STEPS

        train(batch, is_over)
        lengths[batch] = float(np.median(np.diff(ended_s[CALIBRATION_STEPS // 4 :]))) * 1e3
        if lengths[batch] > wanted_ms:
            break
    nearest = min(lengths, key=lambda batch: abs(lengths[batch] - wanted_ms))
    return nearest, lengths[nearest]


def _dataset(batch: int) -> Any:
    data = np.random.default_rng(0).normal(size=(2 * max(BATCHES), WIDTH)).astype("float32")
    return tf.data.Dataset.from_tensor_slices(data).repeat().batch(batch, drop_remainder=True)


def _custom_loop(batch: int, is_over: IsOver) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    batches = iter(strategy.experimental_distribute_dataset(_dataset(batch)))
    train_step = step_of(strategy)
    train_step(next(batches)).numpy()
    while not is_over():
        train_step(next(batches)).numpy()


class _AfterEachBatch(keras.callbacks.Callback):  # type: ignore[misc]
    def __init__(self, is_over: IsOver) -> None:
        super().__init__()
        self._is_over = is_over

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002
        self.model.stop_training = self._is_over()


def _fit(batch: int, is_over: IsOver) -> None:
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = new_model()
        model.compile(keras.optimizers.SGD(0.01), "mse")
    pairs = _dataset(batch).map(lambda data: (data, data))
    model.fit(pairs, steps_per_epoch=10**7, verbose=0, callbacks=[_AfterEachBatch(is_over)])


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
