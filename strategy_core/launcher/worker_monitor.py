"""What one worker's events tell its launcher while it runs: is it alive, how far, how it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from strategy_core.processes import protocol
from strategy_core.processes.exit_reason import ExitEvidence, ExitReason, KillReason, judge
from strategy_core.processes.oom import MemoryReading, oom_evidence, read_memory
from strategy_core.processes.stderr_summary import last_words
from strategy_core.processes.timeouts import BUILDING_FACTOR, CLOSING_S
from strategy_core.processes.worker_process import WorkerProcess
from strategy_lab.profiles.run.event_log import read_events
from strategy_lab.profiles.run.events import (
    CommandAnswered,
    Failed,
    Finished,
    SegmentOpened,
    StepDone,
    WindowCaptured,
)
from strategy_lab.profiles.run.layout import WorkerFolder

_CPU_READ_EVERY_S = 1.0
_BUSY_SHARE = 0.1


@dataclass
class WorkerMonitor:
    """A worker process that was given a run. Driven by one thread, which passes the time in."""

    process: WorkerProcess
    folder: WorkerFolder
    from_spare: bool
    last_sign: float
    """Monotonic seconds of its last event, or of its launch."""
    command: protocol.Run | None = None
    """What it was asked to run."""
    has_begun: bool = False
    """Whether it ever wrote an event."""
    step: int | None = None
    """The last step it finished."""
    spec: dict[str, Any] | None = None
    """Of the segment in force; None until one is open."""
    finished: str | None = None
    failed: Failed | None = None
    follows: bool = False
    """It failed because a peer was gone, by its own account."""
    has_view: bool = False
    """Whether the tables of its first capture are there."""
    is_done: bool = False
    """It closed its books and waits for leave to end."""
    is_gone: bool = False
    lost_at: float | None = None
    """Monotonic seconds when it failed or ended and should not have."""
    asked_to_die_at: float | None = None
    """Monotonic seconds when somebody had it killed: its peers can notice before it is gone."""
    was_silent: bool = False
    """It said nothing while its peers failed for the want of it."""
    is_closing: bool = False
    """It has obeyed Stop: nothing is left to do but to close its books."""
    replaced: bool = False
    killed_for: KillReason | None = None
    kill_note: str = ""
    memory_before: MemoryReading = field(default_factory=read_memory)
    building_since: float | None = None
    """Since when the first step of a segment is being built; None where it is done."""
    stopped_since: float | None = None
    waits_since: float | None = None
    """Since when it has waited for peers that others watch, as far as is known."""
    _cpu_s: float = 0.0
    _cpu_read_at: float = 0.0
    _cursor: int = 0

    def __post_init__(self) -> None:
        self.building_since = self._cpu_read_at = self.last_sign

    def observe(self, now: float) -> None:
        """Read its new events."""
        before = self._cursor
        events, self._cursor = read_events(self.folder.events, before)
        if self._cursor > before:
            self.last_sign, self.has_begun, self.waits_since = now, True, None
        for event in events:
            match event:
                case StepDone():
                    self.step, self.building_since = event.step, None
                case SegmentOpened():
                    self.spec, self.building_since = event.spec, now
                case WindowCaptured():
                    self.has_view = True
                case CommandAnswered():
                    is_obeyed = event.status == "applied"
                    self.is_closing |= is_obeyed and event.command == "stop"
                case Finished():
                    self.finished, self.is_closing = event.status, False
                case Failed():
                    self.failed = event

    def why_hung(self, now: float, timeout_s: float, stopped_s: float = math.inf) -> str | None:
        """Why it is taken for hung; None where it is not.

        No sign of life for `timeout_s` is the reason, or being stopped (SIGSTOP) for `stopped_s`.
        While a step is being built, computing is a sign of life too, for ten times as long.
        """
        self._look_at_process(now)
        if self.stopped_since is not None and now - self.stopped_since > stopped_s:
            return f"No event for {now - self.last_sign:.0f} s; {self._doing()}."
        quiet_s = now - self.last_sign
        if quiet_s > timeout_s:
            return f"No event for {quiet_s:.0f} s; {self._doing()}."
        since = self.building_since if self.is_building else None
        building_s = 0.0 if since is None else now - since
        if building_s > BUILDING_FACTOR * timeout_s:
            return f"No step for {building_s:.0f} s, though its process is computing."
        return None

    @property
    def is_building(self) -> bool:
        """Whether it is on the way to its first step, or to serving."""
        return self.building_since is not None and not self.is_done

    def why_late(self, now: float, stop_by: float, grace_s: float) -> str | None:
        """Why it is late to stop, which it had `grace_s` for until `stop_by`; None where it is not.

        Once a step has ended, what is left is to close the books: that may take longer.
        """
        if not self.is_closing and now > stop_by:
            return f"A stop was requested, but no step ended within {grace_s:.0f} s."
        if self.is_closing and now > stop_by + CLOSING_S:
            return f"The run stopped, but its record was not complete within {CLOSING_S:.0f} s."
        return None

    @property
    def is_ending(self) -> bool:
        """Its process has ended and said nothing; nobody has told its launcher yet."""
        return (
            not self.is_gone
            and self.failed is None
            and self.process.state() in ("zombie", "dead", "gone")
        )

    def kill(self, reason: KillReason, note: str = "") -> None:
        """Kill it, once; the first reason counts, and none where it was at its end by itself."""
        is_at_its_end = self.failed is not None or self.process.poll() is not None
        if self.killed_for is None and not is_at_its_end:
            self.killed_for, self.kill_note = reason, note
        self.process.kill()

    def verdict(self) -> ExitReason:
        """Why it ended; only once it has."""
        is_oom, note = oom_evidence(self.memory_before, read_memory(), self.process.peak_bytes)
        return judge(
            ExitEvidence(
                exit_code=self.process.poll(),
                finished=self.finished,
                failed=self.failed.message if self.failed else None,
                replaced=self.replaced,
                killed_for=self.killed_for,
                kill_note=self.kill_note,
                out_of_memory=is_oom,
                memory_note=note,
                last_words=last_words(self.process.said(self.folder.path / "stderr.log")),
                last_step=self.step,
                serves=self.is_done,
            )
        )

    def lost_ns(self, now: float, now_ns: int) -> int | None:
        """When it was lost, by the wall clock; None where it was not. Both times are of now."""
        at = self.lost_at if self.asked_to_die_at is None else self.asked_to_die_at
        return None if at is None else now_ns - round((now - at) * 1e9)

    def _look_at_process(self, now: float) -> None:
        """Once a second: its memory, and whether it computes."""
        elapsed_s = now - self._cpu_read_at
        if elapsed_s < _CPU_READ_EVERY_S:
            return
        cpu_s = self.process.cpu_seconds()
        is_busy = cpu_s - self._cpu_s > _BUSY_SHARE * elapsed_s
        if is_busy and self.building_since is not None:
            self.last_sign = now
        self._cpu_s, self._cpu_read_at = cpu_s, now
        self.process.sample_memory()
        is_stopped = not is_busy and self.process.state() == "stopped"
        self.stopped_since = (self.stopped_since or now) if is_stopped else None

    def _doing(self) -> str:
        state = self.process.state()
        return {
            "stopped": "its process was stopped (SIGSTOP)",
            "disk-sleep": "its process waits for the disk",
            "running": "its process is computing",
            "sleeping": "its process is waiting",
        }.get(state, f"its process is {state}")
