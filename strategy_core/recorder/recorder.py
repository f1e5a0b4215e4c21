"""The recorder: every step's wall time, and now and then everything about a few of them."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from strategy_core.cluster.telemetry.clock import ClusterClock
from strategy_core.cluster.telemetry.link_meter import LinkMeter
from strategy_core.recorder import memory
from strategy_core.recorder.graph_trace import GraphTrace, Variables
from strategy_core.recorder.step import RecordedStep
from strategy_core.recorder.step_writer import StepWriter
from strategy_core.recorder.tracing_watch import TracingWatch
from strategy_core.recorder.wall_clock import WallClock
from strategy_core.recorder.windows import Windows
from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.run.event_log import EventLog
from strategy_lab.profiles.run.events import (
    Event,
    Failed,
    Finished,
    FinishedStatus,
    Note,
    SegmentOpened,
    WorkerStarted,
)
from strategy_lab.profiles.run.layout import WorkerFolder
from strategy_lab.profiles.run.manifest import uid_of
from strategy_lab.profiles.run.topology import has_coordinator, is_pod
from strategy_lab.profiles.spec.run_spec import Capture

SAMPLE_EVERY_NS = 1_000_000_000
"""So often, at the end of a step, memory and the bytes on the links are looked at."""


class Recorder:
    """Writes one worker's folder. Used from the thread that runs the steps.

    Args:
      folder: the worker's folder; made if it is not there.
      capture: how much to record; may be changed before `open_segment`.
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
        self._scribe = StepWriter(log or EventLog(folder.events))
        self._is_guest = is_guest
        self._tracing = TracingWatch() if is_guest else None
        """Of somebody else's functions; the lab's own are traced once per segment."""
        self._segment: SegmentOpened | None = None
        self._next_step = 0
        self._windows = Windows(folder, self.capture)
        self._observing = ExitStack()
        self._rest_ends_ns = 0
        """Until then (monotonic clock) nothing is asked of a step but its own numbers."""
        self._rested_ns: list[int] = []
        """What the steps since the rest began took."""
        self._attended: RecordedStep | None = None
        """The current step, unless it belongs to a rest."""
        self._ahead: RecordedStep | None = None
        """A step that began with asking for its batch, and waits to be entered."""
        self.links: LinkMeter | None = None
        """Counts the bytes between this process and its peers, where it has some."""
        self.clock: ClusterClock | None = None
        """Exchanges messages with the peers' clocks, if the run has peers."""
        self.profilers: list[str] = []
        """Addresses of the profilers of a TPU pod's hosts, where the steps run on such."""
        self._sample_due_ns = 0
        self._wants_contexts = False
        self._took_ns = 0
        """The recorder's own time around steps, as far as it was not told yet."""
        self._is_closed = False
        clocks = time.time_ns(), time.monotonic_ns()
        self._wall_clock = WallClock(*clocks)
        self.write(WorkerStarted(folder.worker, os.getpid(), *clocks, uid_of(folder.path.parent)))

    def write(self, event: Event) -> None:
        """Append an event of one's own to the worker's log."""
        if isinstance(event, Failed):
            self._write_all(self._windows.finish())  # what led to it is worth the most
        self._hand(self._scribe.write, event)

    def _hand(self, put: Callable[[Any], None], what: Event | RecordedStep) -> None:
        """Give something to the step_writer, unless a guest's disk has refused before."""
        if self._is_guest and self.failure is not None:
            return
        try:
            put(what)
        except RunFolderError as error:
            self._refused(error)

    def _refused(self, error: RunFolderError) -> None:
        """The disk took no more: the end of the run, or in a guest's program of its recording."""
        self.failure = error
        if not self._is_guest:
            raise error
        warnings.warn(f"Recording stopped, training goes on. {error}", stacklevel=4)

    @property
    def next_step(self) -> int:
        """The number that the next step will have."""
        return self._next_step

    @property
    def is_capturing(self) -> bool:
        """Whether the step that is under way is in a capture window."""
        return self._windows.is_capturing

    @property
    def has_work(self) -> bool:
        """Whether a capture is open or on its way into its tables, or a graph is."""
        return self._windows.has_work

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
        self._tell_rest()
        self._rest_ends_ns = 0
        self._windows.hosts = self.profilers if is_pod(segment) else ()
        runs_here = not has_coordinator(segment) or bool(self._windows.hosts)
        self._write_all(self._windows.open_segment(trace, self.capture, runs_here=runs_here))
        self._segment = segment
        self._next_step = segment.first_step
        self._wants_contexts = self.capture.contexts
        self.write(segment)

    def step(self, examples: int | None = None) -> RecordedStep:
        """Around one step, from asking for its batch until its result is there."""
        step = self._ahead
        if step is None:
            if self._segment is None:
                raise RuntimeError("Recorder.step comes after Recorder.open_segment.")
            step = RecordedStep(self._next_step, self._segment.segment, self)
        if examples is not None:
            step.examples = examples
        return step

    def enter_step(self, step: RecordedStep) -> None:
        """The step begins, or did so already with asking for its batch."""
        if step is self._ahead:
            self._ahead = None
            return
        now_ns = time.monotonic_ns()
        if now_ns >= self._rest_ends_ns:
            now_ns = self._attend(step, now_ns)
        step.start_ns, step.begin_ns = time.time_ns(), now_ns

    def leave_step(self, step: RecordedStep, raised: tuple[Any, ...]) -> None:
        """The step ends: recorded, unless it `raised` (type, value, traceback)."""
        if step is self._attended:
            self._leave_attended(step, raised)
        elif raised[0] is None:  # most steps, so as little as can be
            end_ns = step.end()
            self._next_step = step.step + 1
            self._rested_ns.append(end_ns - step.begin_ns)
            self._hand(self._scribe.leave, step)
            if self._tracing is not None:
                self._write_all(self._tracing.step_done(step.segment, step.step))
            self._took_ns += time.monotonic_ns() - end_ns

    def dataset(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same batches. The step that follows each of them begins with asking for it."""
        iterator = iter(batches)
        while True:
            self._leave_ahead()
            step = self.step()
            self.enter_step(step)
            self._ahead = step
            try:
                batch = step.ask(iterator)
            except StopIteration:
                self._leave_ahead()
                return
            yield batch

    def close(self, status: FinishedStatus) -> None:
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
        self._scribe.close()

    def _attend(self, step: RecordedStep, now_ns: int) -> int:
        """A step that may be observed, or have something to be done behind it, is about to begin.
        Returns when it does."""
        self._attended = step
        self._tell_rest()
        if self._wants_contexts:
            assert self._segment is not None
            self._wants_contexts = False
            self._observing.enter_context(self._contexts(self._segment))
        if window := self._windows.observe(step.number):
            self._observing.enter_context(window)
            step.captured = True
        begin_ns = time.monotonic_ns()
        self._took_ns += begin_ns - now_ns
        return begin_ns

    def _leave_attended(self, step: RecordedStep, raised: tuple[Any, ...]) -> None:
        self._attended = None
        end_ns = 0
        try:
            if raised[0] is None:
                end_ns = step.end()
        except BaseException:
            raised = sys.exc_info()
            raise
        finally:
            self._observing.__exit__(*raised)
        if raised[0] is None:
            self._look_after(step)
            self._tell_cost(end_ns)

    def _leave_ahead(self) -> None:
        """A batch was asked for, but no step followed."""
        if self._ahead is not None:
            self._ahead = self._attended = None
            self._observing.close()

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

    def _look_after(self, step: RecordedStep) -> None:
        """What there is to do behind a step that is attended."""
        self._next_step = step.step + 1
        self._hand(self._scribe.leave, step)
        self._watch_tracing(step)
        is_due = step.begin_ns >= self._sample_due_ns
        if is_due:
            self._write_all(self._count_links())  # before anything else passes the links
        self._write_all(self._windows.step_done(step.wall_ms))
        if is_due:
            self._sample(step)

    def _watch_tracing(self, step: RecordedStep) -> None:
        """What was traced in a step that is not the first one; that one traces everything."""
        if self._tracing is None or self._segment is None:
            return
        if step.step == self._segment.first_step:
            self._tracing.find()
        else:
            self._write_all(self._tracing.step_done(step.segment, step.step))

    def _tell_rest(self) -> None:
        """The rest is over: what its steps took."""
        self._windows.passed([took_ns / 1e6 for took_ns in self._rested_ns])
        self._rested_ns = []

    def _tell_cost(self, end_ns: int) -> None:
        """What recording took since it was last told, the work behind this step's end included; and
        how long nothing has to be looked at now."""
        now_ns = time.monotonic_ns()
        took_ms = (self._took_ns + now_ns - end_ns) / 1e6
        self._took_ns = 0
        self._windows.step_written(took_ms + self._scribe.take_cost_ms())
        rest_ns = int(self._windows.rest_ms * 1e6)
        self._rest_ends_ns = min(now_ns + rest_ns, self._sample_due_ns)

    def _sample(self, step: RecordedStep) -> None:
        assert self._segment is not None
        self._sample_due_ns = step.begin_ns + SAMPLE_EVERY_NS
        if jumped := self._wall_clock.look(step.step):
            self.write(jumped)
        self._write_all(memory.sample(self._segment.replica_devices, step.step))
        self._write_all(self._clock_events())

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
