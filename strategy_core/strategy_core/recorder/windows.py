"""Manages a run's capture windows: begin, stop, conversion and their events."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_core.private_tf.availability import new_losses
from strategy_core.processes.timeouts import CLOSING_S
from strategy_core.recorder import python_sampler
from strategy_core.recorder.converter import Answer, Converter
from strategy_core.recorder.graph_trace import GraphTrace
from strategy_core.recorder.planner import LONGEST_REST_MS, WindowPlanner
from strategy_core.recorder.pod_window import PodWindow
from strategy_core.recorder.python_sampler import PythonSampler
from strategy_core.recorder.window import LAST_EVENTS_S, FollowedWindow, Window
from strategy_profiles.capture.helper import Job
from strategy_profiles.capture.pending import Pending
from strategy_profiles.run.events import Event, Note, PlacementRecorded, WindowCaptured
from strategy_profiles.run.layout import WorkerFolder
from strategy_profiles.spec.run_spec import Capture

_BEFORE_A_CHANGE_S = 45.0
"""Limit for the conversions of a segment that ends. Less than the default of `hang_timeout_s`,
because no event is written meanwhile; a launcher would otherwise end the run as hung."""
_MAY_CRASH = (
    "capture.every_worker: TensorFlow 2.21 can crash a worker that is not the leader when its "
    "profiler stops, and the run with it"
)


@dataclass(slots=True)
class _Captured:
    """A stopped window that waits for its conversion."""

    window: Window
    trace: GraphTrace
    cost_ms: float
    sampler: PythonSampler | None
    pending: Pending | None = None
    """Set once the window is written and submitted."""

    @property
    def is_ready(self) -> bool:
        return self.window.is_written and self.trace.is_settled


class Windows:
    """Manages the captures for the recorder. Use it from one thread."""

    def __init__(self, folder: WorkerFolder, capture: Capture) -> None:
        self._folder = folder
        self._capture = capture
        self._planner = WindowPlanner(
            capture.overhead_budget, capture.window_steps, capture.every_step
        )
        self._aside_ms = 0.0
        """Time of starts and stops since `step_written`, which are accounted separately."""
        self._converter = Converter()
        self._trace: GraphTrace | None = None
        self._open: Window | None = None
        self._sampler: PythonSampler | None = None
        self._to_submit: list[_Captured] = []
        self._submitted: dict[int, _Captured] = {}
        self._drained: tuple[int, int] | None = None
        """The step that follows the last window of the segment, and when that window had ended."""
        self._noted: set[str] = set()
        """What captures lack, as notes have said."""
        self._number = 0
        self._is_leader = folder.worker == 0
        self._runs_here = True
        self._is_held = False
        self.hosts: Sequence[str] = ()
        """Profiler addresses of a pod's hosts."""

    @property
    def is_capturing(self) -> bool:
        return self._open is not None and self._open.error is None

    @property
    def has_work(self) -> bool:
        """Whether a window or trace is open, or its result is not reported yet."""
        is_reported = self._trace is None or self._trace.is_reported
        return self._open is not None or bool(self._to_submit or self._submitted) or not is_reported

    @property
    def rest_ms(self) -> float:
        """Time for which nothing is open or pending and no window can begin.

        During that time only `passed` must be called.
        """
        if self.has_work or self._trace is None:
            return 0.0
        return self._planner.rest_ms if self._may_capture else LONGEST_REST_MS

    def passed(self, walls_ms: Sequence[float]) -> None:
        """Replaces `observe` and `step_done` for the steps of a rest."""
        self._planner.passed(walls_ms)

    def open_segment(
        self,
        trace: GraphTrace,
        capture: Capture,
        *,
        runs_here: bool = True,
        is_warm: bool = False,
        num_steps: float = 0,
    ) -> list[Event]:
        """Begin a segment: end the previous segment's window and begin its trace.

        `runs_here` is False if the steps run in other processes, so that there is nothing to
        capture; `is_warm` is True if the first step may be captured; `num_steps` until the segment
        ends, as far as they are known.
        """
        events = self._stop()
        self._drained = None
        self._capture = capture
        self._planner.overhead_budget = capture.overhead_budget
        self._planner.window_steps = capture.window_steps
        self._planner.every_step = capture.every_step
        self._planner.open_segment(is_warm=is_warm, num_steps=num_steps)
        if self._trace is not None:
            self._trace.abandon()
            events += self._placement(wait=True)
        self._trace = trace
        self._runs_here = runs_here
        if self._may_capture:
            self._converter.warm_up()
            python_sampler.warm_up()
        if capture.every_worker and not self._is_leader:
            events.append(Note("warning", _MAY_CRASH))
        return events

    def observe(self, step: int) -> AbstractContextManager[Any] | None:
        """Context manager for a step in an open or new window; None if it is not captured."""
        if self._open is None and self._trace is not None:
            num_steps = self._planner.steps_to_capture() if self._may_capture else 0
            if num_steps:
                self._begin(step, num_steps)
        return self._open.annotate(step) if self._open and self.is_capturing else None

    @property
    def _may_capture(self) -> bool:
        # TensorFlow 2.21 can crash a worker that is not the leader when its profiler stops: SIGSEGV
        # in TraceMeRecorder::Stop, in 19 of 429 sessions of rank 1 and in none of 340 of rank 0.
        # A lower tracer level, or a session that another process asks for
        # (`tf.profiler.experimental.client.trace`), changed nothing. The other ranks' steps are
        # known from the timestamps inside the graph (docs/decisions/numbers.md).
        may_profile = self._is_leader or self._capture.every_worker
        is_possible = self._runs_here and not self._converter.is_given_up
        return may_profile and is_possible and not self._is_held

    def hold(self) -> list[Event]:
        """End the open window, and begin none until `release`: the program has a profiler on."""
        self._is_held = True
        events = self._stop()
        for captured in self._to_submit:
            captured.window.wait()  # a process has one session, which lasts until it is written
        return events + self._submit_ready()

    def release(self) -> None:
        self._is_held = False

    def leave_graph_to(self, who: str) -> bool:
        """Stop collecting the segment's graph; see `GraphTrace.leave_to`."""
        return self._trace is not None and self._trace.leave_to(who)

    def step_done(self, wall_ms: float, step: int, num_steps: int = 1) -> list[Event]:
        """Call after each step: ends a full window and collects the converter's results.

        `num_steps` of the program, of which `step` is the first, may be in one call.
        """
        self._planner.step_done(wall_ms, self.is_capturing)
        if self._open is not None and self.is_capturing:
            self._open.add(step, num_steps)
            if self._open.is_full and self._planner.needs_another_step():
                self._open.num_steps += 1
        events: list[Event] = []
        if self._trace is not None and self._trace.is_tracing:
            self._trace.first_step_done()
        if self._open is not None and (self._open.is_full or self._open.error):
            events += self._stop()
        if self._trace is not None and not (self._may_capture and self._planner.is_first_view_near):
            self._trace.write()
        return events + self._placement() + self._collect(self._converter.answers())

    def step_written(self, took_ms: float) -> None:
        """Account the recorder's own time around steps, starts and stops included."""
        self._planner.step_written(max(0.0, took_ms - self._aside_ms))
        self._aside_ms = 0.0

    def settle(self, timeout_s: float = _BEFORE_A_CHANGE_S) -> list[Event]:
        """End the open window and wait for all conversions."""
        events = self._stop()
        for captured in self._to_submit:
            captured.window.wait()
        events += self._placement(wait=True)
        return events + self._collect(self._converter.finish(timeout_s))

    def finish(self) -> list[Event]:
        """Like `settle`, and close the converter: no segment may follow.

        A launcher knows that the steps are done, and waits as long.
        """
        if self._trace is not None:
            self._trace.abandon()
        events = self.settle(CLOSING_S)
        self._converter.close()
        return events

    def _begin(self, step: int, num_steps: int) -> None:
        assert self._trace is not None
        scratch = self._folder.unconverted(self._number)
        what = (self._number, self._trace.segment, step, num_steps, scratch)
        if self.hosts:
            self._open = PodWindow(*what, hosts=self.hosts, step_ms=self._planner.typical_ms)
        elif self._planner.every_step:
            before = self._to_submit[-1].window if self._to_submit else None
            self._open = FollowedWindow(*what, before=before)
        else:
            self._open = Window(*what)
        self._number += 1
        self._open.drains = any("device:GPU" in name for name in self._trace.replica_devices)
        self._planner.window_begun()
        self._open.start()
        if self._drained is not None and self._open.drains:
            first, since_ns = self._drained
            self._open.synced = step - first, (self._open.drained_ns - since_ns) / 1e6
        if not self.hosts and self._open.error is None:
            self._sampler = PythonSampler()
            self._sampler.start()
        self._aside_ms += self._open.start_ms

    def _stop(self) -> list[Event]:
        window, self._open = self._open, None
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            sampler.stop()
        if window is None or self._trace is None:
            return []
        has_collectives = len(self._trace.replica_devices) > 1 and bool(window.captured)
        captured = _Captured(window, self._trace, window.start_ms, sampler)
        if window.captured and window.error is None and not self.hosts:
            # The raw files of a pod's hosts have no name yet either, and are not found without.
            self._pending(captured, None, is_written=False).save(self._folder)
        window.stop(after_s=LAST_EVENTS_S if has_collectives else 0.0)
        self._aside_ms += window.stop_ms
        self._drained = window.first_step + window.captured, time.monotonic_ns()
        captured.cost_ms = self._planner.window_stopped(window.start_ms + window.stop_ms)
        self._to_submit.append(captured)
        return self._submit_ready()

    def _submit_ready(self) -> list[Event]:
        """Submit captures that are written and whose graph is settled, in order."""
        events: list[Event] = []
        while self._to_submit and self._to_submit[0].is_ready:
            captured = self._to_submit.pop(0)
            window = captured.window
            self._planner.owe(window.write_ms)
            captured.cost_ms += window.write_ms
            xplane = window.xplane()
            hosts = window.of_hosts()
            kept, *kept_hosts = self._keep([xplane, *hosts] if xplane else [], window.number)
            if xplane is None:
                window.discard()
                self._folder.pending(window.number).unlink(missing_ok=True)
                events.append(self._event(captured, kept))
                continue
            if kept is not None:
                window.discard()
            captured.pending = self._pending(captured, kept, xplane, kept_hosts or hosts)
            captured.pending.save(self._folder)
            self._submitted[window.number] = captured
            self._converter.submit(captured.pending.job)
        return events

    def _pending(
        self,
        captured: _Captured,
        kept: Path | None,
        xplane: Path | None = None,
        hosts: Sequence[Path | None] = (),
        *,
        is_written: bool = True,
    ) -> Pending:
        window, trace = captured.window, captured.trace
        graph = trace.graph_file if is_written else str(self._folder.graph(window.segment))
        job = Job(
            window.number,
            str(kept or xplane or ""),
            graph,
            str(self._folder.window(window.number)),
            window.segment,
            self._folder.worker,
            trace.replica_devices,
            trace.core_devices,
            [str(host) for host in hosts],
            captured.sampler.samples() if captured.sampler else {},
            {str(step): number for step, number in window.calls.items()},
        )
        return Pending(job, self._event(captured, kept), is_written)

    def _event(self, captured: _Captured, kept: Path | None) -> WindowCaptured:
        """The window's event before its conversion."""
        window = captured.window
        return WindowCaptured(
            window=window.number,
            segment=window.segment,
            first_step=window.first_step,
            num_steps=window.captured,
            folder=self._folder.window(window.number).name,
            num_events=0,
            num_spans=0,
            start_ms=window.start_ms,
            stop_ms=window.stop_ms + window.write_ms,
            convert_ms=0.0,
            xplane=str(kept.relative_to(self._folder.path)) if kept else None,
            error=window.error,
            synced_steps=window.synced[0] if window.synced else 0,
            synced_ms=window.synced[1] if window.synced else None,
            slower_ms=captured.cost_ms - window.start_ms - window.stop_ms - window.write_ms,
        )

    def _keep(self, xplanes: list[Path], number: int) -> list[Path | None]:
        """Move raw captures to where TensorBoard looks. Returns `[None]` if they are not kept."""
        if not self._capture.keep_xplane or not xplanes:
            return [None]
        home = self._folder.kept_capture(number)
        try:
            home.mkdir(parents=True, exist_ok=True)
            return [xplane.rename(home / xplane.name) for xplane in xplanes]
        except OSError:
            return [None]

    def _placement(self, wait: bool = False) -> list[Event]:
        if self._trace is None:
            return []
        outcome: PlacementRecorded | None = self._trace.outcome(wait)
        self._planner.owe(self._trace.take_cost_ms())
        return [*([] if outcome is None else [outcome]), *self._submit_ready()]

    def _collect(self, answers: list[Answer]) -> list[Event]:
        notes = (*self._converter.take_notes(), *new_losses())
        events: list[Event] = [Note("warning", note) for note in notes]
        if answers:
            self._planner.owe(self._converter.take_import_ms())
        for answer in answers:
            captured = self._submitted.pop(answer["number"])
            assert captured.pending is not None
            event = captured.pending.event_of(answer)
            captured.pending.remove(self._folder)
            self._planner.window_converted(captured.cost_ms, event.convert_ms, event.num_steps)
            if event.error is None:
                captured.window.discard()
            events.append(event)
            events += [
                Note("warning", f"Capture: {problem}.")
                for problem in event.problems
                if problem not in self._noted
            ]
            self._noted.update(event.problems)
        return events
