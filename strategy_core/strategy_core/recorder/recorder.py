"""Records every step's wall time, and a full capture of a few steps from time to time."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import psutil
import tensorflow as tf

from strategy_core.cluster.telemetry.clock import ClockFollower, ClockServer
from strategy_core.cluster.telemetry.link_meter import LinkMeter
from strategy_core.processes.resource_use import ResourceSampler, RunProcess
from strategy_core.recorder.context_tracer import trace_contexts
from strategy_core.recorder.graph_trace import GraphTrace, Variables
from strategy_core.recorder.stack_sampler import StackSampler
from strategy_core.recorder.step import RecordedStep
from strategy_core.recorder.step_writer import StepWriter
from strategy_core.recorder.tracing_watch import TracingWatch
from strategy_core.recorder.wall_clock import WallClock
from strategy_core.recorder.windows import Windows
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import (
    Event,
    Failed,
    Finished,
    FinishedStatus,
    MemorySampled,
    Note,
    SegmentOpened,
    WorkerStarted,
)
from strategy_profiles.run.layout import WorkerFolder
from strategy_profiles.run.liveness import process_started_ns
from strategy_profiles.run.manifest import uid_of
from strategy_profiles.run.topology import has_coordinator, is_pod
from strategy_profiles.spec.run_spec import Capture

_NO_SEGMENT = "Recorder.step comes after Recorder.open_segment."
SAMPLE_EVERY_NS = 1_000_000_000
"""Interval at which memory and link traffic are sampled, at the end of a step."""


def begin_stacks(failed: Callable[[Exception], None] = lambda _error: None) -> StackSampler:
    """Begin to sample the calling thread of this process; `failed` as of `StackSampler`."""
    sampler = StackSampler(process_started_ns(os.getpid()) or 0, failed=failed)
    sampler.start()
    return sampler


class Recorder:
    """Writes one worker's folder. Use it from the thread that runs the steps.

    Between windows the recorder *rests*: until a known time no window can begin and nothing is
    sampled, so a step records its own numbers only. A step outside of a rest is *attended*: it may
    be captured, and events may follow it.

    Args:
      folder: the worker's folder; created if missing.
      capture: how much to record; may be replaced before `open_segment`.
      log: an event log that the caller has already opened.
      stacks: samples the program's stack already; by default a sampler of this thread is started.
      is_guest: True in a program outside of the lab. A failed write to the disk then ends the
        recording with one warning, not the training. Otherwise it raises RunFolderError.
    """

    def __init__(
        self,
        folder: WorkerFolder,
        *,
        capture: Capture | None = None,
        log: EventLog | None = None,
        stacks: StackSampler | None = None,
        is_guest: bool = False,
    ) -> None:
        self.folder = folder
        self.capture = capture or Capture()
        self.failure: RunFolderError | None = None
        """The error that ended the recording, if any."""
        self._step_writer = StepWriter(log or EventLog(folder.events))
        self._is_guest = is_guest
        self._tracing = TracingWatch() if is_guest else None
        """Watches the program's functions. The lab's own functions are traced once per segment."""
        self._segment: SegmentOpened | None = None
        self._next_step = 0
        self._windows = Windows(folder, self.capture)
        self._graphs_left_to: str | None = None
        self._observing = ExitStack()
        self._rest_ends_ns = 0
        """Monotonic time at which the rest ends."""
        self._rested_ns: list[int] = []
        """Durations of the steps since the rest began."""
        self._attended: RecordedStep | None = None
        """The current step, if it is attended."""
        self._ahead: RecordedStep | None = None
        """A step that began by fetching its batch and has not been entered yet."""
        self.open_step: RecordedStep | None = None
        """The step whose `with` block the program is in."""
        self.links: LinkMeter | None = None
        """Counts the bytes between this process and its peers, if it has any."""
        self.clock: ClockServer | ClockFollower | None = None
        """Exchanges messages with the peers' clocks, if there are peers."""
        self.resources: ResourceSampler | None = None
        """Samples this process and the machine, if no launcher does so."""
        self.profilers: list[str] = []
        """Profiler addresses of a TPU pod's hosts, if the steps run on a pod."""
        self._sample_due_ns = 0
        self._wants_contexts = False
        self._took_ns = 0
        """The recorder's own time around steps since the last `_tell_cost`."""
        self._is_closed = False
        clocks = time.time_ns(), time.monotonic_ns()
        self._wall_clock = WallClock(*clocks)
        self._stacks = stacks or begin_stacks()
        self._stacks.write_to(folder.stacks)
        self.write(WorkerStarted(folder.worker, os.getpid(), *clocks, uid_of(folder.path.parent)))

    def write(self, event: Event) -> None:
        """Append an event to the worker's log."""
        if isinstance(event, Failed):
            self._write_all(self._windows.finish())  # the steps before a failure matter most
        self._hand(self._step_writer.write, event)

    def _hand(self, put: Callable[[Any], None], what: Event | RecordedStep) -> None:
        """Pass an event or a step to the step writer, unless a guest's disk has refused one
        before."""
        if self._is_guest and self.failure is not None:
            return
        try:
            put(what)
        except RunFolderError as error:
            self._refused(error)

    def _refused(self, error: RunFolderError) -> None:
        """Handle a failed write: end the run, or in a guest only its recording."""
        self.failure = error
        if not self._is_guest:
            raise error
        warnings.warn(f"Recording stopped, training goes on. {error}", stacklevel=4)

    @property
    def next_step(self) -> int:
        """The number of the next step."""
        return self._next_step

    @property
    def has_work(self) -> bool:
        """Whether a capture is open or not yet converted, or a graph is not yet written."""
        return self._windows.has_work

    def hold_windows(self) -> None:
        """End the open window, and capture nothing until `release_windows`."""
        self._write_all(self._windows.hold())

    def release_windows(self) -> None:
        self._windows.release()
        self._rest_ends_ns = 0  # it was planned while no window could begin

    def leave_graphs_to(self, who: str | None) -> bool:
        """Collect no graphs until a call with None: the program does so, as the sentence `who`
        says.

        Returns whether the current segment goes without a graph because of it.
        """
        self._graphs_left_to = who
        return who is not None and self._windows.leave_graph_to(who)

    def settle(self) -> None:
        """End the open window and wait until every capture is converted to tables."""
        self._write_all(self._windows.settle())

    def open_segment(
        self,
        segment: SegmentOpened,
        variables: Variables = (),
        same_as: Sequence[int] = (),
        collected: Callable[[], Any] | None = None,
        *,
        is_warm: bool = False,
        num_steps: float = 0,
    ) -> None:
        """Begin a segment; its first step is traced for the placement.

        `variables`, or a function that returns them once the first step is done, are listed in the
        placement under their own names. Without them the graph's names are used. `same_as` are
        earlier segments of this recorder with the same step functions, which are then not traced
        again. `collected` returns the first step's RunMetadata if the caller collects graphs
        itself, and `is_warm` says that the steps' functions ran before. `num_steps` until the
        segment ends, infinite if it is to be stopped and 0 if not known, decide how late its first
        window comes.
        """
        trace = GraphTrace(
            self.folder,
            segment.segment,
            segment.replica_devices,
            variables,
            segment.core_devices or (),
            same_as,
            self._graphs_left_to,
            collected,
        )
        if self._tracing is not None:
            trace.graphs = self._tracing.graphs
        self._tell_rest()
        self._rest_ends_ns = 0
        self._windows.hosts = self.profilers if is_pod(segment) else ()
        runs_here = not has_coordinator(segment) or bool(self._windows.hosts)
        self._write_all(
            self._windows.open_segment(
                trace, self.capture, runs_here=runs_here, is_warm=is_warm, num_steps=num_steps
            )
        )
        self._segment = segment
        self._next_step = segment.first_step
        if self._ahead is not None:  # its batch was fetched for the new segment's first step
            self._ahead.segment, self._ahead.captured = segment.segment, False
            self._observing.close()
        self._wants_contexts = self.capture.contexts
        self.write(segment)

    def step(self, examples: int | None = None) -> RecordedStep:
        """Return the context manager around one step, from fetching its batch until its result."""
        step = self._ahead
        if step is None:
            if self._segment is None:
                raise RuntimeError(_NO_SEGMENT)
            step = RecordedStep(self._next_step, self._segment.segment, self)
        if examples is not None:
            step.examples = examples
        return step

    def enter_step(self, step: RecordedStep) -> None:
        """Begin the step, unless it already began by fetching its batch."""
        self.open_step = step
        if step is self._ahead:
            self._ahead = None
            return
        if self._tracing is not None:
            self._tracing.count()
        now_ns = time.monotonic_ns()
        if now_ns >= self._rest_ends_ns:
            now_ns = self._attend(step, now_ns)
        step.start_ns, step.begin_ns = time.time_ns(), now_ns

    def begin_step(self) -> RecordedStep:
        """Begin the next step, or go on with the one that began by fetching its batch."""
        step, self._ahead = self._ahead, None
        if step is None:
            step = self.step()
            self.enter_step(step)
        self.open_step = step
        return step

    def leave_step(self, step: RecordedStep, raised: tuple[Any, ...]) -> None:
        """End the step and record it. A step that raised is not recorded.

        `raised` is the exception as `__exit__` receives it: type, value and traceback, or Nones.
        """
        self.open_step = None
        if step is self._attended:
            self._leave_attended(step, raised)
        elif raised[0] is None:  # in a rest, like most steps: do as little as possible
            if step.read is not None and step.ended_ns:
                end_ns = step.end_ns = step.ended_ns  # as `end` does
            else:
                end_ns = step.end()
            self._next_step = step.step + step.num_steps
            self._rested_ns.append(end_ns - step.begin_ns)
            if self.failure is None or not self._is_guest:  # as `_hand` does
                try:
                    self._step_writer.leave(step)
                except RunFolderError as error:
                    self._refused(error)
            if self._tracing is not None and self._tracing.count():
                self._write_all(self._tracing.retraced(step.segment, step.step))
            self._took_ns += time.monotonic_ns() - end_ns  # what recording the step has cost

    def dataset(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the same batches. Each following step begins by fetching its batch.

        A batch that is fetched inside of a step belongs to that one.
        """
        iterator = iter(batches)
        while True:
            step = self.open_step or self.begin_ahead()
            try:
                batch = step.next_batch(iterator)
            except StopIteration:
                self.leave_ahead()
                return
            yield batch

    def begin_ahead(self) -> RecordedStep:
        """Begin the next step, whose batch is about to be fetched. `step` returns it."""
        if self._ahead is not None:
            self.leave_ahead()
        if self._segment is None:
            raise RuntimeError(_NO_SEGMENT)
        step = object.__new__(RecordedStep)  # `__init__` would be one more call in each step
        step.step, step.segment, step.observer = self._next_step, self._segment.segment, self
        if self._tracing is not None:  # as `enter_step` does
            self._tracing.count()
        now_ns = time.monotonic_ns()
        if now_ns >= self._rest_ends_ns:
            now_ns = self._attend(step, now_ns)
        step.start_ns, step.begin_ns = time.time_ns(), now_ns
        self.open_step, self._ahead = None, step
        return step

    def close(self, end: FinishedStatus | Failed, why: str | None = None) -> None:
        """Record the end of the run, or its failure, stop all samplers and close the log.

        `why` it ended, in words, if the status is not enough.
        """
        if self._is_closed:
            return
        self._is_closed = True
        self._stacks.stop()
        self.leave_ahead()
        self._write_all(self._windows.finish())
        self._write_all(self._count_links())
        self._write_all(self._clock_events())
        if self.clock is not None:
            self.clock.close()
        self.write(end if isinstance(end, Failed) else Finished(end, self._next_step, why))
        if self._is_guest and self.failure is not None:
            with suppress(RunFolderError):  # by now the disk may have space for one line
                self._step_writer.write(
                    Failed(f"The recording ended before the program did. {self.failure}")
                )
        self._step_writer.close()

    def _attend(self, step: RecordedStep, now_ns: int) -> int:
        """Begin a step that may be captured or be followed by other events.

        Returns the monotonic time at which the step begins.
        """
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

    def leave_ahead(self) -> None:
        """Drop a step whose batch was fetched but that was never entered."""
        if self._ahead is not None:
            self._ahead = self._attended = None
            self._observing.close()

    @contextmanager
    def _contexts(self, segment: SegmentOpened) -> Iterator[None]:
        """Trace the distribution contexts of a segment's first step, if the capture asks for it."""
        try:
            tracer = trace_contexts()
        except LabError as error:
            self.write(Note("warning", f"The contexts are not traced: {error}"))
            yield
            return
        with tracer as trace:
            yield
        table = self.folder.contexts(segment.segment)
        try:
            for path in (table, table.with_suffix(".json")):
                trace.save(path, segment.segment)
        except OSError as error:
            self.write(Note("warning", f"The contexts could not be kept: {error}"))

    def _look_after(self, step: RecordedStep) -> None:
        """Do the work that follows an attended step."""
        self._next_step = step.step + step.num_steps
        self._hand(self._step_writer.leave, step)
        self._watch_tracing(step)
        is_due = step.begin_ns >= self._sample_due_ns
        if is_due:
            self._write_all(self._count_links())  # before other work sends data over the links
        self._write_all(self._windows.step_done(step.wall_ms, step.step, step.num_steps))
        if is_due:
            self._sample(step)

    def _watch_tracing(self, step: RecordedStep) -> None:
        """Record retraced functions; a segment's first step traces everything and is left out."""
        if self._tracing is None or self._segment is None:
            return
        if step.step == self._segment.first_step:
            self._tracing.find()
        else:
            self._write_all(self._tracing.step_done(step.segment, step.step))

    def _tell_rest(self) -> None:
        """Report the durations of the steps of the rest to the planner."""
        self._windows.passed([took_ns / 1e6 for took_ns in self._rested_ns])
        self._rested_ns = []

    def _tell_cost(self, end_ns: int) -> None:
        """Report the cost of recording since the last call, this step's included, and plan the
        rest."""
        now_ns = time.monotonic_ns()
        took_ms = (self._took_ns + now_ns - end_ns) / 1e6
        self._took_ns = 0
        self._windows.step_written(took_ms + self._step_writer.take_cost_ms())
        rest_ns = int(self._windows.rest_ms * 1e6)
        self._rest_ends_ns = min(now_ns + rest_ns, self._sample_due_ns)

    def _sample(self, step: RecordedStep) -> None:
        assert self._segment is not None
        self._sample_due_ns = step.begin_ns + SAMPLE_EVERY_NS
        if jumped := self._wall_clock.look(step.step):
            self.write(jumped)
        self._write_all(_memory_of(self._segment.replica_devices, step.step))
        self._write_all(self._sample_resources())
        self._write_all(self._clock_events())

    def _sample_resources(self) -> list[Event]:
        if self.resources is None:
            return []
        own = RunProcess(os.getpid(), self.folder.worker, self.folder.generation)
        sampled = self.resources.sample(lambda: [own], time.monotonic())
        return [] if sampled is None else [sampled]

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


def _memory_of(devices: Iterable[str], step: int) -> list[MemorySampled]:
    """Memory in use: a sample per GPU or TPU by its counters; without any, one of this process.

    Virtual CPU devices share one process and have no memory counters of their own.
    """
    samples = []
    for device in devices:
        kind, _, number = device.rpartition("/device:")[2].partition(":")
        if kind in ("GPU", "TPU"):
            info = tf.config.experimental.get_memory_info(f"{kind}:{number}")
            samples.append(
                MemorySampled(device, step, info["current"], info["peak"], "tensorflow-allocator")
            )
    if samples:
        return samples
    resident = psutil.Process().memory_info().rss
    return [MemorySampled("host", step, resident, None, "process-resident")]
