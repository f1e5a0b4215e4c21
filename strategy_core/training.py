"""A training run in this process: the segment in force, its steps, and the change to the next one.

The worker drives it: `open`, then `run_step` until done, `reconfigure` between steps.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from profiles.events import SegmentOpened
from profiles.spec import RunSpec, check_batch
from strategy_core import algorithms, checkpoint, devices, state, strategies, workload
from strategy_core.device_plan import DevicePlan, plan
from strategy_core.recorder import Recorder
from strategy_core.step import build_step, with_shares
from strategy_core.variables import variable_rules


@dataclass
class _Segment:
    """Everything that a configuration needs, built."""

    spec: RunSpec
    plan: DevicePlan
    algorithm: algorithms.Algorithm
    strategy: tf.distribute.Strategy
    model: Any
    optimizer: Any
    batches: Iterator[Any]
    step: Any

    @property
    def state_variables(self) -> list[Any]:
        return state.variables(self.model, self.optimizer)

    def take_state(self) -> state.State:
        return state.take(self.strategy, self.state_variables)


class Training:
    """One run's training: model, optimizer and position in the data, under a strategy."""

    def __init__(self, spec: RunSpec, recorder: Recorder, resume: Path | None = None) -> None:
        self.spec = spec
        self.step = 0
        """Steps done so far."""
        self._examples = 0
        self._num_segments = 0
        self._recorder = recorder
        self._resume = resume
        self._segment: _Segment | None = None

    def open(self) -> None:
        """Build what the spec asks for, from the checkpoint where there is one; raises LabError."""
        saved = None
        if self._resume is not None:
            saved = checkpoint.load(self._resume)
            self.step, self._examples = saved.step, saved.examples
            self._num_segments = saved.num_segments
        segment = _build(self.spec, saved.state if saved else None, self._examples)
        self._enter(segment, saved.checksum if saved else None, "fresh-worker" if saved else None)

    def run_step(self) -> None:
        """One real step through the recorder."""
        segment = self._current
        with self._recorder.step(examples=segment.spec.global_batch_size) as recorded:
            with recorded.input():
                batch, shares = next(segment.batches)
            outcome = segment.step(batch, shares)
            loss, examples = outcome.loss_and_examples.numpy()
            marks = None if outcome.marks is None else outcome.marks.numpy().tolist()
            recorded.result(loss=float(loss), marks=marks, examples=int(examples))
        self.step += 1
        self._examples += int(examples)

    def reconfigure(self, spec: RunSpec) -> None:
        """Go on under another spec, state carried over; raises LabError and stays as it was."""
        before = self._current.take_state()
        segment = _build(spec, before, self._examples)
        self._enter(segment, state.checksum(before), "same-worker")

    def save(self, path: Path) -> None:
        """Write a checkpoint from which `Training(..., resume=path)` goes on."""
        held = self._current.take_state()
        checkpoint.save(
            path,
            checkpoint.Checkpoint(
                held, self.step, self._examples, self._num_segments, state.checksum(held)
            ),
        )

    def state_checksum(self) -> str:
        """Checksum of model and optimizer state as they are now."""
        return state.checksum(self._current.take_state())

    @property
    def _current(self) -> _Segment:
        assert self._segment is not None, "open() comes first"
        return self._segment

    def _enter(self, segment: _Segment, checksum_before: str | None, moved: str | None) -> None:
        """Put a built segment in force and record it."""
        found = state.checksum(segment.take_state()) if checksum_before else None
        self._recorder.open_segment(
            _segment_opened(segment, self._num_segments, self.step, checksum_before, found, moved)
        )
        self._segment, self.spec = segment, segment.spec
        self._num_segments += 1


def _build(spec: RunSpec, carried: state.State | None, examples: int) -> _Segment:
    """Strategy, model, optimizer, data from the example at position `examples` on, and the step."""
    planned = plan(spec, devices.inventory())
    check_batch(spec.global_batch_size, len(planned.indices))
    algorithm = algorithms.decide(spec, planned)
    strategy = strategies.build(spec, planned.names, algorithm)
    work = workload.load(spec.workload, spec.workload_options)
    with strategy.scope():
        keras.utils.set_random_seed(spec.seed)
        with variable_rules(strategy):
            model = work.build_model()
        optimizer = work.build_optimizer()
        optimizer.build(model.trainable_variables)
    if carried is not None:
        state.put(state.variables(model, optimizer), carried)
    dataset = work.build_dataset(spec.global_batch_size, spec.seed)
    dataset = with_shares(dataset.skip(examples // spec.global_batch_size)).prefetch(2)
    step = build_step(
        strategy,
        model,
        optimizer,
        work,
        delays_ms={delay.replica: delay.ms for delay in spec.inject},
        with_marks=spec.capture.marks,
    )
    batches = iter(strategy.experimental_distribute_dataset(dataset))
    return _Segment(spec, planned, algorithm, strategy, model, optimizer, batches, step)


def _segment_opened(
    segment: _Segment,
    number: int,
    first_step: int,
    checksum_before: str | None,
    checksum_after: str | None,
    moved: str | None,
) -> SegmentOpened:
    """The event that puts the segment on record."""
    variables = segment.model.trainable_variables
    return SegmentOpened(
        segment=number,
        strategy=segment.spec.strategy,
        num_replicas=segment.strategy.num_replicas_in_sync,
        num_workers=segment.spec.workers,
        global_batch_size=segment.spec.global_batch_size,
        first_step=first_step,
        started_ns=time.time_ns(),
        replica_devices=segment.plan.names,
        cross_device_ops=segment.algorithm.name,
        spec=segment.spec.to_json(),
        parameter_bytes=sum(v.value.dtype.size * v.value.shape.num_elements() for v in variables),
        state_checksum_before=checksum_before,
        state_checksum_after=checksum_after,
        moved=moved,
    )
