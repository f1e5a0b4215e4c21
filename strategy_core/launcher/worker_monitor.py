"""One worker process as its launcher sees it: its state, its progress, and why it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from strategy_core.launcher.process_activity import ProcessActivity
from strategy_core.launcher.process_start import ProcessStart
from strategy_core.launcher.state_machine import StateMachine
from strategy_core.launcher.worker_state import GONE, TRANSITIONS, WorkerEvent, WorkerState
from strategy_core.processes.exit_reason import ExitEvidence, ExitReason, KillReason, exit_reason
from strategy_core.processes.oom import MemoryReading, oom_evidence, read_memory
from strategy_core.processes.stderr_summary import stderr_summary
from strategy_core.processes.timeouts import BUILDING_FACTOR, CLOSING_S
from strategy_core.processes.worker_process import WorkerProcess
from strategy_lab.profiles.run.event_log import read_events
from strategy_lab.profiles.run.events import (
    CommandAnswered,
    Event,
    Failed,
    Finished,
    SegmentOpened,
    StepDone,
    WindowCaptured,
)
from strategy_lab.profiles.run.layout import WorkerFolder

_COMPUTING_IS_PROGRESS = (WorkerState.STARTING, WorkerState.OPENING, WorkerState.SERVING)
"""States in which processor time counts as a sign of life: no record is due."""


@dataclass
class WorkerMonitor:
    """A worker process that was given a run. Driven by one thread, which passes the time in."""

    process: WorkerProcess
    folder: WorkerFolder
    from_spare: bool
    last_sign: float
    """Monotonic seconds of its last event, or of its launch."""
    start: ProcessStart | None = None
    """What it was started with."""
    step: int | None = None
    """The last step it finished."""
    spec: dict[str, Any] | None = None
    """Of the current segment; None until one is open."""
    has_capture: bool = False
    """Whether the tables of its first capture are there."""
    finished: str | None = None
    """Status of its `finished` record."""
    failed: Failed | None = None
    killed_for: KillReason | None = None
    kill_note: str = ""
    kill_requested_at: float | None = None
    """Monotonic seconds when a user had it killed: its peers can notice before it has ended."""
    lost_at: float | None = None
    """Monotonic seconds when it failed, or ended before its work was done."""
    waits_since: float | None = None
    """Since when it has waited for peers that other launchers watch, as far as is known."""
    ended_in: WorkerState | None = None
    """The state in which its process ended."""
    memory_before: MemoryReading = field(default_factory=read_memory)
    _cursor: int = 0

    def __post_init__(self) -> None:
        name = f"worker process {self.folder.worker}-{self.folder.generation}"
        self.machine = StateMachine(name, WorkerState.STARTING, TRANSITIONS)
        self.activity = ProcessActivity(self.process, self.last_sign)
        self._opening_since = self.last_sign

    @property
    def state(self) -> WorkerState:
        return self.machine.state

    @property
    def is_gone(self) -> bool:
        """Whether its process has ended, and the launcher has acted on that."""
        return self.state in GONE

    @property
    def last_state(self) -> WorkerState:
        """Its state, or the one in which its process ended."""
        return self.ended_in or self.state

    @property
    def is_done(self) -> bool:
        """Whether it may leave at any time."""
        return self.last_state in (WorkerState.SERVING, WorkerState.DONE)

    @property
    def is_opening(self) -> bool:
        """Whether it is on the way to its first step, or to serving."""
        return self.state in (WorkerState.STARTING, WorkerState.OPENING)

    @property
    def lost_a_peer(self) -> bool:
        """Whether it failed because a peer had ended, by its own account."""
        return self.failed is not None and self.failed.follows

    @property
    def is_exiting(self) -> bool:
        """Whether its process has ended without a word, and its launcher has yet to notice."""
        return (
            not self.is_gone
            and self.failed is None
            and self.process.state() in ("zombie", "dead", "gone")
        )

    def observe(self, now: float) -> None:
        """Read its new events."""
        before = self._cursor
        events, self._cursor = read_events(self.folder.events, before)
        if self._cursor > before:
            self.last_sign, self.waits_since = now, None
            if self.state is WorkerState.STARTING:
                self._advance(WorkerEvent.WROTE)
        for event in events:
            self._take_event(event, now)

    def take_message(self, message: Mapping[str, Any], now: float) -> None:
        """Act on what it said in its pipe, or on its end."""
        self.observe(now)
        if "failed" in message:
            self.failed = msgspec.convert(message["failed"], Failed)
            self._advance(WorkerEvent.FAILURE)
        elif "done" in message:
            self._advance(WorkerEvent.SAID_DONE)
        elif "gone" in message:
            self._advance(WorkerEvent.EXITED)

    def hand_over(self) -> None:
        """Note that a fresh process has taken over its work."""
        self._advance(WorkerEvent.HANDED_OVER)
        if self.is_gone:
            self.ended_in = WorkerState.REPLACED

    def dismiss(self) -> None:
        """End it: the run is over before it was ready to take part."""
        self.finished = "finished"
        self._advance(WorkerEvent.NOT_NEEDED)
        self.process.kill()

    def kill(self, reason: KillReason, note: str = "") -> None:
        """Kill it. The first reason counts, and none if it was already ending by itself."""
        is_ending = self.failed is not None or self.process.poll() is not None
        if self.killed_for is None and not is_ending:
            self.killed_for, self.kill_note = reason, note
        self.process.kill()

    def why_hung(self, now: float, timeout_s: float, stopped_s: float = math.inf) -> str | None:
        """Why it counts as hung; None if it does not.

        A worker is hung after `timeout_s` without a sign of life, or `stopped_s` after SIGSTOP.
        While a step is being built, computing is a sign of life too, for ten times as long.
        """
        if self.activity.sample(now) and self.state in _COMPUTING_IS_PROGRESS:
            self.last_sign = now
        quiet_s = now - self.last_sign
        stopped_since = self.activity.stopped_since
        if quiet_s > timeout_s or (stopped_since is not None and now - stopped_since > stopped_s):
            return f"No event for {quiet_s:.0f} s; {self.activity}."
        opening_s = now - self._opening_since
        if self.is_opening and opening_s > BUILDING_FACTOR * timeout_s:
            return f"No step for {opening_s:.0f} s, though its process is computing."
        return None

    def why_late(self, now: float, stop_by: float, grace_s: float) -> str | None:
        """Why it has not stopped in time, the `grace_s` until `stop_by`; None if it is not late.

        Once it has obeyed Stop, converting its last captures may take longer.
        """
        is_closing = self.state is WorkerState.CLOSING
        if not is_closing and now > stop_by:
            return f"A stop was requested, but no step ended within {grace_s:.0f} s."
        if is_closing and now > stop_by + CLOSING_S:
            return f"The run stopped, but its record was not complete within {CLOSING_S:.0f} s."
        return None

    def exit_reason(self) -> ExitReason:
        """Why its process ended; only once it has."""
        is_oom, note = oom_evidence(self.memory_before, read_memory(), self.process.peak_bytes)
        return exit_reason(
            ExitEvidence(
                exit_code=self.process.poll(),
                finished=self.finished,
                failed=self.failed.message if self.failed else None,
                replaced=self.last_state is WorkerState.REPLACED,
                killed_for=self.killed_for,
                kill_note=self.kill_note,
                out_of_memory=is_oom,
                memory_note=note,
                stderr=stderr_summary(self.process.said(self.folder.path / "stderr.log")),
                last_step=self.step,
                serves=self.is_done,
            )
        )

    def lost_ns(self, now: float, now_ns: int) -> int | None:
        """Wall clock of its loss, given both clocks now; None if it was not lost."""
        at = self.lost_at if self.kill_requested_at is None else self.kill_requested_at
        return None if at is None else now_ns - round((now - at) * 1e9)

    def _take_event(self, event: Event, now: float) -> None:
        match event:
            case StepDone():
                self.step = event.step
                self._advance(WorkerEvent.STEP_DONE)
            case SegmentOpened():
                self.spec, self._opening_since = event.spec, now
                self._advance(WorkerEvent.SEGMENT_OPENED)
            case WindowCaptured():
                self.has_capture = True
            case CommandAnswered():
                if event.status == "applied" and event.command == "stop":
                    self._advance(WorkerEvent.STOP_APPLIED)
            case Finished():
                self.finished = event.status
                self._advance(WorkerEvent.WROTE_FINISHED)
            case Failed():
                self.failed = event
                self._advance(WorkerEvent.FAILURE)

    def _advance(self, event: WorkerEvent) -> None:
        before = self.state
        self.machine.advance(event)
        if self.is_gone and before not in GONE:
            self.ended_in = before
