"""One worker process as its launcher sees it: its state, its progress, and why it ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from strategy_core.launcher.state_machine import StateMachine
from strategy_core.launcher.worker_state import GONE, TRANSITIONS, WorkerEvent, WorkerState
from strategy_core.processes import protocol
from strategy_core.processes.exit_reason import (
    ExitEvidence,
    ExitReason,
    KillReason,
    exit_reason,
    stderr_summary,
)
from strategy_core.processes.oom import MemoryReading, oom_evidence, read_memory
from strategy_core.processes.timeouts import BUILDING_FACTOR, CLOSING_S
from strategy_core.processes.worker_process import WorkerProcess
from strategy_profiles.decoders import converted
from strategy_profiles.run.event_log import read_events
from strategy_profiles.run.events import (
    CommandAnswered,
    Event,
    Failed,
    Finished,
    SegmentOpened,
    StepDone,
    WindowCaptured,
)
from strategy_profiles.run.layout import WorkerFolder, worker_folder

_SAMPLE_EVERY_S = 1.0
_BUSY_SHARE = 0.1
"""From this share of one core on, a process counts as computing."""


@dataclass
class ProcessActivity:
    """What the operating system reports about a process. Driven by one thread."""

    process: WorkerProcess
    sampled_at: float
    """Monotonic seconds of the last sample."""
    stopped_since: float | None = None
    """Monotonic seconds since when it has been stopped (SIGSTOP)."""
    _cpu_s: float = 0.0

    def sample(self, now: float) -> bool:
        """Sample it if that is due; returns whether it has computed since the last sample."""
        elapsed_s = now - self.sampled_at
        if elapsed_s < _SAMPLE_EVERY_S:
            return False
        cpu_s = self.process.cpu_seconds()
        is_busy = cpu_s - self._cpu_s > _BUSY_SHARE * elapsed_s
        self._cpu_s, self.sampled_at = cpu_s, now
        self.process.sample_memory()
        is_stopped = not is_busy and self.process.state() == "stopped"
        self.stopped_since = (self.stopped_since or now) if is_stopped else None
        return is_busy

    def __str__(self) -> str:
        state = self.process.state()
        return {
            "stopped": "its process was stopped (SIGSTOP)",
            "disk-sleep": "its process waits for the disk",
            "running": "its process is computing",
            "sleeping": "its process is waiting",
        }.get(state, f"its process is {state}")


@dataclass(frozen=True, slots=True)
class ProcessStart:
    """Enough to start the process, and to start another one in its place."""

    command: protocol.Run
    namespaces: Sequence[int] = ()
    """Open descriptors of those that it enters; none for those of its launcher."""

    @property
    def folder(self) -> WorkerFolder:
        """The folder into which the process records."""
        return worker_folder(Path(self.command.run), self.command.worker, self.command.generation)

    def in_generation(self, generation: int) -> ProcessStart:
        """Return the arguments for a later process, which records into a folder of its own."""
        return replace(self, command=replace(self.command, generation=generation))


_COMPUTING_IS_PROGRESS = (WorkerState.STARTING, WorkerState.OPENING, WorkerState.SERVING)
"""States in which processor time counts as a sign of life: no record is due."""


@dataclass
class WorkerMonitor:
    """A worker process that takes part in a run. Used by one thread, which passes the time in."""

    process: WorkerProcess
    folder: WorkerFolder
    from_spare: bool
    last_sign: float
    """Monotonic seconds of the process's last event, or of its launch."""
    start: ProcessStart | None = None
    """The arguments of the process, to start another one in its place."""
    step: int | None = None
    """The last finished step."""
    step_at_stop: int | None = None
    """That when a stop was requested."""
    spec: dict[str, Any] | None = None
    """Spec of the current segment; None until one is open."""
    has_capture: bool = False
    """Whether the tables of the first capture are written."""
    finished: str | None = None
    """Status of the process's `finished` event; None without one."""
    failed: Failed | None = None
    killed_for: KillReason | None = None
    kill_note: str = ""
    kill_requested_at: float | None = None
    """Monotonic seconds of a user's request to kill the process.

    The loss counts from here, because the peers can notice before the process has ended.
    """
    lost_at: float | None = None
    """Monotonic seconds when the process failed, or ended before its work was done."""
    waits_since: float | None = None
    """Monotonic seconds since when the process presumably waits for peers on other hosts."""
    ended_in: WorkerState | None = None
    """The state in which its process ended."""
    memory_before: MemoryReading = field(default_factory=read_memory)
    _cursor: int = 0

    def __post_init__(self) -> None:
        name = f"worker process {self.folder.worker}-{self.folder.generation}"
        self.machine = StateMachine(name, WorkerState.STARTING, TRANSITIONS)
        self.activity = ProcessActivity(self.process, self.last_sign)
        self._opening_since = self.last_sign
        self._has_gpus = False

    @property
    def state(self) -> WorkerState:
        return self.machine.state

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended and the launcher has processed that."""
        return self.state in GONE

    @property
    def last_state(self) -> WorkerState:
        """The current state, or the one in which the process ended."""
        return self.ended_in or self.state

    @property
    def is_done(self) -> bool:
        """Whether the process may leave at any time: it serves, or has written its last record."""
        return self.last_state in (WorkerState.SERVING, WorkerState.DONE)

    @property
    def is_opening(self) -> bool:
        """Whether the process has yet to finish a step of its segment, or to serve."""
        return self.state in (WorkerState.STARTING, WorkerState.OPENING)

    @property
    def lost_a_peer(self) -> bool:
        """Whether the process reported that it failed because a peer had ended."""
        return self.failed is not None and self.failed.follows

    @property
    def is_exiting(self) -> bool:
        """Whether the process has ended without reporting an error, and no `gone` has come yet."""
        return (
            not self.is_gone
            and self.failed is None
            and self.process.state() in ("zombie", "dead", "gone")
        )

    def observe(self, now: float) -> None:
        """Read the process's new events. Any event is a sign of life."""
        before = self._cursor
        events, self._cursor = read_events(self.folder.events, before)
        if self._cursor > before:
            self.last_sign, self.waits_since = now, None
            if self.state is WorkerState.STARTING:
                self._advance(WorkerEvent.WROTE)
        for event in events:
            self._take_event(event, now)

    def take_message(self, message: Mapping[str, Any], now: float) -> None:
        """Act on a message from the process's pipe, or on `gone`, its end."""
        self.observe(now)
        if "failed" in message:
            self.failed = converted(message["failed"], Failed)
            self._advance(WorkerEvent.FAILURE)
        elif "done" in message:
            self._advance(WorkerEvent.SAID_DONE)
        elif "gone" in message:
            self._advance(WorkerEvent.EXITED)

    def hand_over(self) -> None:
        """Note that a fresh process has taken over the work of this one."""
        self._advance(WorkerEvent.HANDED_OVER)
        if self.is_gone:
            self.ended_in = WorkerState.REPLACED

    def dismiss(self) -> None:
        """Kill a process that was not ready before the run's end. This counts as a normal end."""
        self.finished = "finished"
        self._advance(WorkerEvent.NOT_NEEDED)
        self.process.kill()

    def kill(self, reason: KillReason, note: str = "") -> None:
        """Kill the process, and keep the reason for `exit_reason`.

        Only the first reason is kept, and none if the process had failed or ended before.
        """
        is_ending = self.failed is not None or self.process.poll() is not None
        if self.killed_for is None and not is_ending:
            self.killed_for, self.kill_note = reason, note
        self.process.kill()

    def why_hung(self, now: float, timeout_s: float, stopped_s: float = math.inf) -> str | None:
        """Return why the process counts as hung, for a message; None if it does not.

        A worker is hung after `timeout_s` without a sign of life, or `stopped_s` after SIGSTOP.
        Until the first step of a segment, and while it serves, computing is a sign of life too, but
        no first step within `BUILDING_FACTOR * timeout_s` counts as hung. The first step on GPUs
        may be silent for as long: compilation for the card, autotuning and NCCL's start wait for
        the driver. After Stop or the last planned step it has `CLOSING_S` more, while its last
        captures are converted.
        """
        if self._has_done_its_steps:
            timeout_s += CLOSING_S
        if self.activity.sample(now) and self.state in _COMPUTING_IS_PROGRESS:
            self.last_sign = now
        quiet_s = now - self.last_sign
        may_wait_s = timeout_s * (BUILDING_FACTOR if self._is_opening_on_gpus else 1)
        stopped_since = self.activity.stopped_since
        if quiet_s > may_wait_s or (stopped_since is not None and now - stopped_since > stopped_s):
            return f"No event for {quiet_s:.0f} s; {self.activity}."
        opening_s = now - self._opening_since
        if self.is_opening and opening_s > BUILDING_FACTOR * timeout_s:
            return f"No step for {opening_s:.0f} s, though its process is computing."
        return None

    @property
    def _is_opening_on_gpus(self) -> bool:
        return self._has_gpus and self.state is WorkerState.OPENING

    @property
    def _has_done_its_steps(self) -> bool:
        if self.state is WorkerState.CLOSING:
            return True
        planned = (self.spec or {}).get("steps")
        return planned is not None and self.step is not None and self.step + 1 >= planned

    def why_late(self, now: float, stop_by: float, grace_s: float) -> str | None:
        """Return why the process counts as late in stopping, for a message; None if it does not.

        It must stop by `stop_by`, which is `grace_s` after the request. A worker that has obeyed
        Stop has `CLOSING_S` more to convert its last captures.
        """
        is_closing = self.state is WorkerState.CLOSING
        if not is_closing and now > stop_by:
            more = 0 if self.step is None else self.step - (self.step_at_stop or 0)
            if self.step_at_stop is not None and more > 1:  # one was on the way
                return (
                    f"A stop was requested at step {self.step_at_stop}, but {more:,} more steps "
                    f"were done within {grace_s:.0f} s."
                )
            return f"A stop was requested, but no step ended within {grace_s:.0f} s."
        if is_closing and now > stop_by + CLOSING_S:
            return f"The run stopped, but its record was not complete within {CLOSING_S:.0f} s."
        return None

    def exit_reason(self) -> ExitReason:
        """Return why the process ended. Call this only after it has."""
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
                stderr=stderr_summary(self.process.stderr_tail(self.folder.path / "stderr.log")),
                last_step=self.step,
                serves=self.is_done,
            )
        )

    def lost_ns(self, now: float, now_ns: int) -> int | None:
        """Return the wall clock time of the loss in ns; None if the process was not lost.

        `now` and `now_ns` are the monotonic and the wall clock at the same moment.
        """
        at = self.lost_at if self.kill_requested_at is None else self.kill_requested_at
        return None if at is None else now_ns - round((now - at) * 1e9)

    def _take_event(self, event: Event, now: float) -> None:
        match event:
            case StepDone():
                self.step = event.step
                self._advance(WorkerEvent.STEP_DONE)
            case SegmentOpened():
                self.spec, self._opening_since = event.spec, now
                self._has_gpus = any("device:GPU" in name for name in event.replica_devices)
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
