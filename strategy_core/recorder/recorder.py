"""The recorder: every step's wall time, and now and then everything about a few of them."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from profiles.errors import RunFolderError
from profiles.event_log import EventLog
from profiles.events import (
    Event,
    Failed,
    Finished,
    Note,
    SegmentOpened,
    StepDone,
    WorkerStarted,
)
from profiles.hosts import is_pod, is_served
from profiles.layout import WorkerFolder
from profiles.spec import Capture
from strategy_core.cluster.clock import ClusterClock
from strategy_core.cluster.link_meter import LinkMeter
from strategy_core.recorder import memory
from strategy_core.recorder.graph_trace import GraphTrace, Variables
from strategy_core.recorder.step import RecordedStep
from strategy_core.recorder.windows import Windows

SAMPLE_EVERY_NS = 1_000_000_000
"""So often, at the end of a step, memory and the bytes on the links are looked at."""


class Recorder:
    """Writes one worker's folder. Used from the thread that runs the steps.

    Args:
      folder: the worker's folder; made if it is not there.
      capture: how much to record; may be set anew before `open_segment`.
      log: an event log that the caller has opened already.
      is_guest: True in somebody's own program: a disk that refuses an event ends the recording
        with one warning, not the training. Else RunFolderError is raised.
    """

    def __init__(
        self,
        folder: WorkerFolder,
        *,
        capture: Capture | None = None,
        log: EventLog | None = None,
        is_guest: bool = False,
    ) -> None:
        self.folder = folder
        self.capture = capture or Capture()
        self.failure: RunFolderError | None = None
        """Why nothing is recorded any more, where that is so."""
        self._log = log or EventLog(folder.events)
        self._is_guest = is_guest
        self._segment: SegmentOpened | None = None
        self._next_step = 0
        self._windows = Windows(folder, self.capture)
        self._observing = ExitStack()
        self._is_observed = False
        self._ahead: RecordedStep | None = None
        """A step that began with asking for its batch, and waits to be entered."""
        self.links: LinkMeter | None = None
        """Counts the bytes between this process and its peers, where it has some."""
        self.clock: ClusterClock | None = None
        """Exchanges messages with the peers' clocks, where there are any."""
        self.profilers: list[str] = []
        """Addresses of the profilers of a TPU pod's hosts, where the steps run on such."""
        self._sample_due_ns = 0
        self._begin_took_ns = 0
        self._is_closed = False
        self.write(WorkerStarted(folder.worker, os.getpid(), time.time_ns(), time.monotonic_ns()))

    def write(self, event: Event) -> None:
        """Append an event of one's own to the worker's log."""
        if isinstance(event, Failed):
            self._write_all(self._windows.finish())  # what led to it is worth the most
        if self._is_guest and self.failure is not None:
            return
        try:
            self._log.write(event)
        except RunFolderError as error:
            self.failure = error
            if not self._is_guest:
                raise
            warnings.warn(f"Recording stopped, training goes on. {error}", stacklevel=2)

    @property
    def next_step(self) -> int:
        """The number that the next step will have."""
        return self._next_step

    @property
    def is_capturing(self) -> bool:
        """Whether the step that is under way is in a capture window."""
        return self._windows.is_capturing

    def settle(self) -> None:
        """End the window that is open, and wait until every capture so far is in its tables."""
        self._write_all(self._windows.settle())

    def open_segment(
        self, segment: SegmentOpened, variables: Variables = (), same_as: int | None = None
    ) -> None:
        """A configuration comes into force; its first step is traced for its placement.

        `variables`, or what gives them once the first step is done, are listed in the placement
        under their own names; without them they are found in the graph, as it names them.
        `same_as` is a segment of this recorder whose step comes back, and is not traced again.
        """
        trace = GraphTrace(
            self.folder,
            segment.segment,
            segment.replica_devices,
            variables,
            segment.core_devices or (),
            same_as,
        )
        self._windows.hosts = self.profilers if is_pod(segment) else ()
        runs_here = not is_served(segment) or bool(self._windows.hosts)
        self._write_all(self._windows.open_segment(trace, self.capture, runs_here=runs_here))
        self._segment = segment
        self._next_step = segment.first_step
        self.write(segment)

    def step(self, examples: int | None = None) -> AbstractContextManager[RecordedStep]:
        """Around one step, from asking for its batch until its result is there."""
        return _Around(self, examples)

    def enter_step(self, examples: int | None) -> RecordedStep:
        """The step begins, or did so already with asking for its batch."""
        ahead, self._ahead = self._ahead, None
        step = ahead or self._begin()
        if examples is not None:
            step.examples = examples
        return step

    def leave_step(self, step: RecordedStep, *raised: Any) -> None:
        """The step ends: recorded, unless it `raised` (type, value, traceback)."""
        is_done = raised[0] is None
        try:
            if is_done:
                step.end()
        except BaseException:
            raised = sys.exc_info()
            raise
        finally:
            if self._is_observed:
                self._is_observed = False
                self._observing.__exit__(*raised)
        if is_done:
            self._record(step)

    def dataset(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same batches. The step that follows each of them begins with asking for it."""
        iterator = iter(batches)
        while True:
            self._leave_ahead()
            self._ahead = self._begin()
            try:
                with self._ahead.input():
                    batch = next(iterator)
            except StopIteration:
                self._leave_ahead()
                return
            yield batch

    def close(self, status: str) -> None:
        """Close the books: `finished`, `stopped` or `replaced`."""
        if self._is_closed:
            return
        self._is_closed = True
        self._leave_ahead()
        self._write_all(self._windows.finish())
        self._write_all(self._count_links())
        self._write_all(self._clock_events())
        if self.clock is not None:
            self.clock.close()
        self.write(Finished(status, self._next_step))
        self._log.close()

    def _begin(self) -> RecordedStep:
        begin_ns = time.monotonic_ns()
        segment = self._segment
        if segment is None:
            raise RuntimeError("Recorder.step comes after Recorder.open_segment.")
        step = RecordedStep(self._next_step, segment.segment)
        if self.capture.contexts and step.number == segment.first_step:
            self._observe(self._contexts(segment))
        if window := self._windows.observe(step.number):
            self._observe(window)
        self._begin_took_ns = time.monotonic_ns() - begin_ns
        step.begin(self._windows.is_capturing)
        return step

    def _leave_ahead(self) -> None:
        """A batch was asked for, but no step followed."""
        if self._ahead is not None:
            self._ahead = None
            self._is_observed = False
            self._observing.close()

    def _observe(self, context: AbstractContextManager[Any]) -> None:
        """Have the step that begins inside a context."""
        self._is_observed = True
        self._observing.enter_context(context)

    @contextmanager
    def _contexts(self, segment: SegmentOpened) -> Iterator[None]:
        """Around a segment's first step, where its contexts were asked for: they are traced."""
        from strategy_core.contexts.record import save
        from strategy_core.contexts.tracer import trace_contexts

        with trace_contexts() as trace:
            yield
        table = self.folder.contexts(segment.segment)
        try:
            for path in (table, table.with_suffix(".json")):
                save(trace, path, segment.segment)
        except OSError as error:
            self.write(Note("warning", f"The contexts could not be kept: {error}"))

    def _record(self, step: RecordedStep) -> None:
        begin_ns = time.monotonic_ns()
        segment = self._segment
        assert segment is not None
        self._next_step = step.number + 1
        self.write(
            StepDone(
                segment=segment.segment,
                step=step.number,
                start_ns=step.start_ns,
                wall_ms=step.wall_ms,
                loss=step.loss,
                examples=step.examples,
                captured=self._windows.is_capturing,
                input_ms=step.input_ms,
                marks_ns=step.marks_ns,
            )
        )
        self._write_all(step.events)
        is_due = step.start_ns >= self._sample_due_ns
        if is_due:
            self._sample_due_ns = step.start_ns + SAMPLE_EVERY_NS
            self._write_all(self._count_links())  # before anything else passes the links
        self._write_all(self._windows.step_done(step.wall_ms))
        if is_due:
            self._write_all(memory.sample(segment.replica_devices, step.number))
            self._write_all(self._clock_events())
        took_ns = self._begin_took_ns + time.monotonic_ns() - begin_ns
        self._windows.step_written(took_ns / 1e6)

    def _count_links(self) -> list[Event]:
        if self.links is None:
            return []
        segment = self._segment.segment if self._segment else None
        return [self.links.count(segment, self._next_step)]

    def _clock_events(self) -> Iterable[Event]:
        return () if self.clock is None else self.clock.take_events()

    def _write_all(self, events: Iterable[Event]) -> None:
        for event in events:
            self.write(event)


class _Around:
    """`Recorder.step` as a `with` block: a generator would cost several times as much, each step.

    After a step the caches have forgotten Python's code, so every line of it counts.
    """

    __slots__ = ("_examples", "_recorder", "_step")

    def __init__(self, recorder: Recorder, examples: int | None) -> None:
        self._recorder = recorder
        self._examples = examples

    def __enter__(self) -> RecordedStep:
        self._step = self._recorder.enter_step(self._examples)
        return self._step

    def __exit__(self, *raised: Any) -> None:
        self._recorder.leave_step(self._step, *raised)
