"""A training run in this process: the current segment, its steps, and the change to the next one.

The worker calls `open`, then `run_step` until done, and `reconfigure` between steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from strategy_core import strategies
from strategy_core.cluster.barrier import all_can, leave_together, share
from strategy_core.cluster.command_agreement import CommandAgreement
from strategy_core.planning.reconfiguration import why_rebuilt
from strategy_core.private_tf.availability import new_losses
from strategy_core.recorder.recorder import Recorder
from strategy_core.runtime.error_message import type_and_cause
from strategy_core.training import checkpoint, segment, state
from strategy_core.training.segment import Segment
from strategy_core.training.segment_cache import SegmentCache
from strategy_core.training.step_errors import explanation
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.run.events import Note
from strategy_profiles.spec.run_spec import RunSpec


class Training:
    """One run's training: model, optimizer and position in the data, under a strategy."""

    def __init__(
        self,
        spec: RunSpec,
        recorder: Recorder,
        resume: Path | None = None,
        agreement: CommandAgreement | None = None,
        *,
        is_same_run: bool = True,
    ) -> None:
        self.spec = spec
        self.step = 0
        """Steps done so far."""
        self._examples = 0
        self._num_segments = 0
        self._recorder = recorder
        self._resume = resume
        self._is_same_run = is_same_run
        """Whether `resume` is a checkpoint of this run, whose segments it continues to count."""
        self._agreement = agreement
        self._segment: Segment | None = None
        self._is_first_step_recorded = False
        self._left: Segment | None = None
        """The previous segment, to return to until the current one has done a step."""
        self._left_state: state.State = []
        """The previous segment's training state, in case the current one shares its variables."""
        self._kept = SegmentCache()
        self.num_traced = 0
        """Number of step graphs traced so far."""

    def open(
        self, joined: Callable[[tf.distribute.Strategy], None] = lambda _strategy: None
    ) -> None:
        """Build what the spec asks for, from the checkpoint if one is given; raises LabError.

        `joined` is called with the strategy once the other processes of a cluster have joined.
        """
        if self._resume is None:
            self._enter(segment.build(self.spec, agreement=self._agreement, joined=joined))
            return
        saved = checkpoint.load(self._resume)
        self.step, self._examples = saved.step, saved.examples
        self._num_segments = saved.num_segments if self._is_same_run else 0
        built = segment.build(
            self.spec,
            carried=saved.state,
            first_example=saved.examples,
            agreement=self._agreement,
            joined=joined,
        )
        self._enter(built, saved.checksum, "fresh-worker" if self._is_same_run else None)

    def run_step(self) -> None:
        """Run one step through the recorder.

        Raises LabError if it was the first step after a change and failed. The run is then back in
        the previous configuration, as if no change had been requested.
        """
        try:
            self._run_step()
        except Exception as error:  # a model's layers, and TensorFlow, may raise any error
            if self._left is None or isinstance(error, RunFolderError) or self._is_shared(error):
                raise
            self._go_back()
            if isinstance(error, LabError):
                raise
            raise LabError(
                f"The first step after the change failed: {type_and_cause(error)}"
            ) from error
        if self._left is not None:
            self._left.loop.close()
            if self._left.model is not self._current.model:
                self._kept.keep(self._left, self._left_state)
            self._left = None
        if not self._is_first_step_recorded:
            self._record_first_step()

    def reconfigure(self, spec: RunSpec) -> None:
        """Continue under another spec with the current state.

        Raises LabError and keeps the current configuration if that fails. All workers of a cluster
        take part; if one of them cannot make the change, none does.
        """
        self.settle()
        before = self._current
        carried = before.take_state()
        built, refusal = None, None
        try:
            built = self._built(spec, carried)
        except LabError as error:
            refusal = error
        if self._agreement is not None and not all_can(before.strategy, refusal is None):
            raise refusal or LabError("Another worker cannot make the change")
        if built is None:
            assert refusal is not None
            raise refusal
        self._enter(built, state.checksum(carried), "same-worker")
        self._left, self._left_state = before, carried

    def _built(self, spec: RunSpec, carried: state.State) -> Segment:
        """The segment for `spec`, which continues at the next example; raises LabError."""
        before = self._current
        try:
            if why_rebuilt(before.spec, spec) is None:
                is_same_data = spec.global_batch_size == before.spec.global_batch_size
                return segment.adapt(before, spec, None if is_same_data else self._examples)
            kept = self._kept.find(spec)
            if kept is None:
                return segment.build(
                    spec, carried=carried, first_example=self._examples, before=before
                )
            kept.put_state(carried)
            return segment.adapt(kept, spec, self._examples)
        except LabError:
            raise
        except (tf.errors.ResourceExhaustedError, MemoryError) as error:
            raise LabError(
                f"The devices have no room for the run: {type_and_cause(error)}"
            ) from error
        # the user's own layers are built outside of the functions that `explained` covers
        except Exception as error:
            raise LabError(f"The run cannot be built: {type_and_cause(error)}") from error

    def settle(self) -> None:
        """Finish the steps that were started asynchronously, so that the state stays unchanged."""
        for _ in self._current.loop.on_the_way():
            self.run_step()

    def save(self, path: Path | None) -> None:
        """Write a checkpoint from which `Training(..., resume=path)` continues.

        All workers of a cluster take part, and one of them gets a path.
        """
        self.settle()
        held = self._current.take_state()
        if path is None:
            return
        checkpoint.save(
            path,
            checkpoint.Checkpoint(
                held, self.step, self._examples, self._num_segments, state.checksum(held)
            ),
        )

    def share(self, process: int, num_workers: int, text: str) -> list[str]:
        """Exchange texts between all workers of a cluster; returns them by worker number."""
        return share(self._current.strategy, process, num_workers, text)

    def part(self) -> None:
        """Wait until every worker of a cluster has finished its last step."""
        leave_together(self._current.strategy)

    def close(self) -> None:
        """Release what drives the steps; no step may follow."""
        for built in (self._left, self._segment):
            if built is not None:
                built.loop.close()

    def take_state(self) -> state.State:
        """A copy of the current model and optimizer state."""
        return self._current.take_state()

    @property
    def _current(self) -> Segment:
        assert self._segment is not None, "open() comes first"
        return self._segment

    def _run_step(self) -> None:
        current = self._current
        try:
            with self._recorder.step(examples=current.spec.global_batch_size) as recorded:
                examples = current.loop.run_step(recorded)
        except Exception as error:
            explained = explanation(current.spec, self.step, error)
            if explained is None:
                raise
            raise explained from error
        self.step += 1
        self._examples += examples

    def _enter(
        self, built: Segment, checksum_before: str | None = None, moved: str | None = None
    ) -> None:
        """Make a built segment the current one and record it."""
        built.take_effect()
        opened = built.opened(
            self._num_segments, self.step, checksum_before=checksum_before, moved=moved
        )
        self._recorder.capture = built.spec.capture
        self._recorder.open_segment(
            opened,
            built.placed_variables,
            () if built.recorded_as is None else (built.recorded_as,),
            num_steps=self._steps_ahead(built.spec),
        )
        for note in built.notes:
            self._recorder.write(Note("info", note))
        self._segment, self.spec = built, built.spec
        self._is_first_step_recorded = False
        self._num_segments += 1

    def _steps_ahead(self, spec: RunSpec) -> float:
        """Steps until the next planned change or the end; infinite if the run is to be stopped."""
        changes = [change.step for change in spec.reconfigure if change.step > self.step]
        end = math.inf if spec.steps is None else spec.steps
        return min([end, *changes]) - self.step

    def _record_first_step(self) -> None:
        """Record that the segment has a graph on record, and what its strategy says of the step."""
        self._is_first_step_recorded = True
        number = self._num_segments - 1
        if self._current.recorded_as is None:
            self.num_traced += 1
        self._current.has_recorded(number)
        for loss in new_losses():
            self._recorder.write(Note("warning", loss))
        for event in strategies.step_events(self._current.strategy, self._current.spec, number):
            self._recorder.write(event)

    def _is_shared(self, error: Exception) -> bool:
        """Whether an error occurred inside a step that several workers run together.

        The other workers are then still in the step, so this one cannot return to the previous
        segment alone. An error before the step occurs in all workers alike.
        """
        raised = error.__cause__ if isinstance(error, LabError) else error
        return self._agreement is not None and isinstance(raised, tf.errors.OpError)

    def _go_back(self) -> None:
        """Return to the previous segment.

        If the failed segment has its own variables, those of the previous one are unchanged; if it
        shares them, their values are restored.
        """
        assert self._left is not None
        before, self._left = self._left, None
        failed = self._current
        failed.loop.close()
        self._kept.drop(failed.spec)
        failed.forget_step()
        if failed.model is before.model:
            before.put_state(self._left_state)
            before = segment.adapt(before, before.spec, self._examples)
        self._enter(before, state.checksum(before.take_state()), "same-worker")
