"""The windows of a run: begun when the planner says so, handed to the converter, told when done."""

from __future__ import annotations

import os
import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from profiles.capture.helper import Job
from profiles.events import Event, PlacementRecorded, WindowCaptured
from profiles.layout import WorkerFolder
from profiles.spec import Capture
from strategy_core.recorder.converter import Answer, Converter
from strategy_core.recorder.graph_trace import GraphTrace
from strategy_core.recorder.planner import WindowPlanner
from strategy_core.recorder.window import Window

_LAST_CONVERSIONS_S = 120.0


@dataclass(slots=True)
class _Captured:
    """A window that is stopped and waits for its tables."""

    event: WindowCaptured
    xplane: Path
    scratch: Path
    trace: GraphTrace
    cost_ms: float


class Windows:
    """Everything about captures that the recorder need not know. For one thread."""

    def __init__(self, folder: WorkerFolder, capture: Capture) -> None:
        self._folder = folder
        self._capture = capture
        self._planner = WindowPlanner(
            capture.overhead_budget, capture.window_steps, capture.every_step, os.cpu_count() or 1
        )
        self._converter = Converter()
        self._trace: GraphTrace | None = None
        self._open: Window | None = None
        self._to_submit: list[_Captured] = []
        self._submitted: dict[int, _Captured] = {}
        self._number = 0

    @property
    def is_capturing(self) -> bool:
        return self._open is not None and self._open.error is None

    def open_segment(self, trace: GraphTrace, capture: Capture) -> list[Event]:
        """A segment begins: the window of the one before ends, its trace begins."""
        events = self._stop()
        self._capture = capture
        self._planner.overhead_budget = capture.overhead_budget
        self._planner.window_steps = capture.window_steps
        self._planner.every_step = capture.every_step
        self._planner.open_segment()
        if self._trace is not None:
            self._trace.abandon()
            events += self._placement(wait=True)
        self._trace = trace
        self._converter.warm_up()
        return events

    def observe(self, step: int) -> AbstractContextManager[Any]:
        """Around a step: in a window that is open, or begins here, or nothing at all."""
        if self._open is None and self._trace is not None:
            num_steps = self._planner.steps_to_capture()
            if num_steps:
                self._begin(step, num_steps)
        return self._open.annotate(step) if self._open and self.is_capturing else nullcontext()

    def step_done(self, wall_ms: float) -> list[Event]:
        """After each step: end a full window, take what the converter has."""
        self._planner.step_done(wall_ms, self.is_capturing)
        events: list[Event] = []
        if self._trace is not None and self._trace.is_tracing:
            self._trace.first_step_done()
        if self._open is not None and (self._open.is_full or self._open.error):
            events += self._stop()
        return events + self._placement() + self._collect(self._converter.answers())

    def finish(self) -> list[Event]:
        """End the open window and wait for all conversions."""
        events = self._stop()
        if self._trace is not None:
            self._trace.abandon()
        events += self._placement(wait=True)
        self._submit_ready()
        events += self._collect(self._converter.finish(_LAST_CONVERSIONS_S))
        self._converter.close()
        return events

    def _begin(self, step: int, num_steps: int) -> None:
        assert self._trace is not None
        scratch = self._folder.path / f".window-{self._number:06d}"
        self._open = Window(self._number, self._trace.segment, step, num_steps, scratch)
        self._number += 1
        self._planner.window_begun()
        self._open.start()

    def _stop(self) -> list[Event]:
        window, self._open = self._open, None
        if window is None or self._trace is None:
            return []
        window.stop()
        profiler_ms = window.start_ms + window.stop_ms
        cost_ms = self._planner.window_stopped(profiler_ms)
        event = WindowCaptured(
            window=window.number,
            segment=window.segment,
            first_step=window.first_step,
            num_steps=window.captured,
            folder=self._folder.window(window.number).name,
            num_events=0,
            num_spans=0,
            start_ms=window.start_ms,
            stop_ms=window.stop_ms,
            convert_ms=0.0,
            error=window.error,
            slower_ms=cost_ms - profiler_ms,
        )
        if window.xplane is None:
            window.discard()
            return [event]
        xplane = self._keep(window.xplane, window.number)
        kept = xplane.is_relative_to(self._folder.xplane)
        event = replace(event, xplane=self._relative(xplane) if kept else None)
        self._to_submit.append(_Captured(event, xplane, window.scratch, self._trace, cost_ms))
        if kept:
            window.discard()
        self._submit_ready()
        return []

    def _keep(self, xplane: Path, number: int) -> Path:
        """Move a raw capture to where TensorBoard looks, if it is to be kept."""
        if not self._capture.keep_xplane:
            return xplane
        home = self._folder.xplane / "plugins" / "profile" / f"window_{number:06d}"
        try:
            home.mkdir(parents=True, exist_ok=True)
            return xplane.rename(home / xplane.name)
        except OSError:
            return xplane

    def _submit_ready(self) -> None:
        """Hand over captures whose segment's graph is settled, in order."""
        while self._to_submit and self._to_submit[0].trace.is_settled:
            captured = self._to_submit.pop(0)
            event, trace = captured.event, captured.trace
            self._submitted[event.window] = captured
            self._converter.submit(
                Job(
                    event.window,
                    str(captured.xplane),
                    trace.graph_file,
                    str(self._folder.window(event.window)),
                    event.segment,
                    self._folder.worker,
                    trace.replica_devices,
                )
            )

    def _placement(self, wait: bool = False) -> list[Event]:
        if self._trace is None:
            return []
        outcome: PlacementRecorded | None = self._trace.outcome(wait)
        self._submit_ready()
        return [] if outcome is None else [outcome]

    def _collect(self, answers: list[Answer]) -> list[Event]:
        events: list[Event] = []
        for answer in answers:
            captured = self._submitted.pop(answer["number"])
            error = answer["error"]
            found = {} if error else {key: answer[key] for key in _FOUND}
            event = replace(captured.event, error=error, **found)
            self._planner.window_converted(captured.cost_ms, event.convert_ms, event.num_steps)
            if event.xplane is None and error is None:
                shutil.rmtree(captured.scratch, ignore_errors=True)
            events.append(event)
        return events

    def _relative(self, path: Path) -> str:
        return str(path.relative_to(self._folder.path))


_FOUND = ("num_events", "num_spans", "convert_ms", "num_unmatched", "num_ambiguous")
