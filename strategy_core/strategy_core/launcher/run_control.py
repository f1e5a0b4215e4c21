"""Drives one run from messages, commands and the time: its groups, its changes, its end.

A change that needs other processes is made with two groups alive. Ending the old group first was
not an option: its state would be gone, and a fresh group can fail in many ways before its first
step (no memory for the new batch, an algorithm that the devices cannot run, an error of the
user's code). The current group therefore writes a checkpoint, keeps its state and waits; the fresh
one, the candidate, opens from the checkpoint. After the candidate's first step the current group
leaves. If the candidate ends before that, the current group goes on, and the change costs a
pause.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strategy_core.launcher.deployment import Deployment, GroupStart
from strategy_core.launcher.inbox import Inbox, KillProcess, KillRun, Request
from strategy_core.launcher.last_captures import convert_last_captures
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.record_limit import RecordLimit
from strategy_core.launcher.restarts import Restarts
from strategy_core.launcher.run_state import TRANSITIONS, RunEvent, RunState
from strategy_core.launcher.state_machine import StateMachine
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.launcher.worker_pool import SpareTiming, WorkerPool
from strategy_core.processes import protocol
from strategy_core.processes.exit_reason import ExitReason
from strategy_core.processes.resource_use import ResourceSampler, RunProcess
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.run.checkpoints import last_saved_state
from strategy_profiles.run.events import Note
from strategy_profiles.run.layout import worker_folders
from strategy_profiles.spec.run_spec import RunSpec, parse_spec

LEAVE_GRACE_S = 10.0
"""Limit for a replaced worker to convert its last capture."""
EXPECTED_ENDS = ("finished", "stopped")
NOTHING_LOST = "It was at its start. Run it again, or continue it if it has a saved state."


class RunControl:
    """Driven by one thread, which passes the messages and the time in."""

    def __init__(
        self,
        spec: RunSpec,
        folder: Path,
        workers: WorkerPool,
        inbox: Inbox,
        deployment: Deployment,
        stop_grace_s: float,
        checkpoint: Path | None = None,
    ) -> None:
        self.exit_reason: ExitReason | None = None
        """Why it ended; None while it runs."""
        self.exit_code: int | None = None
        self.failure_detail = ""
        self.numbers = itertools.count(deployment.first_number)
        """Numbers for the commands that this launcher sends."""
        self.machine = StateMachine("the run", RunState.STARTING, TRANSITIONS)
        self._spec = spec
        self._folder = folder
        self._workers = workers
        self._inbox = inbox
        self._deployment = deployment
        self._stop_grace_s = stop_grace_s
        self.stop_by: float | None = None
        self.candidate: ProcessGroup | None = None
        self._leaving: list[tuple[ProcessGroup, float]] = []
        """Replaced groups, each with its deadline."""
        self._held: list[protocol.Command] = []
        """Commands received during a change, for the group that runs after it."""
        self._spare_timing = SpareTiming()
        self._record_limit = RecordLimit(folder)
        self._resources = ResourceSampler()
        self._restarts_left = spec.cluster.restarts
        self._log = deployment.launch_log(folder)
        self._restarts = Restarts(workers, inbox, self._log)
        self._latest_generation = 0
        """Of all processes, also of those that are gone: each generation has its folder."""
        self.group = self._start(GroupStart(folder, spec, checkpoint=checkpoint))
        self._log.launched(self.group)

    @property
    def groups(self) -> list[ProcessGroup]:
        """The groups with processes: the current one, a candidate, and those that are leaving."""
        candidate = [self.candidate] if self.candidate else []
        return [self.group, *candidate, *(group for group, _ in self._leaving)]

    def take(self, sender: WorkerMonitor | None, message: Any, now: float) -> None:
        """Act on one message: a request to this run if `sender` is None, else from that worker.

        `now` is the launcher's monotonic time. A worker's message is one of `processes.protocol`,
        or `{"gone": True}` once its process has ended.
        """
        if sender is None:
            self._take_request(message, now)
            return
        group = next((group for group in self.groups if sender in group.workers), None)
        if group is None:
            return  # the process was replaced by a fresh one, or its group dropped
        group.take_message(sender, message, now)
        if "gone" in message and self._has_restarted(group, sender):
            return
        if group is self.group:
            self._take_from_group(message, now)
        elif group is self.candidate:
            self._take_from_candidate(group, message, now)
        elif group.is_gone:  # a replaced group whose last process has ended
            self._leaving = [(other, by) for other, by in self._leaving if other is not group]
            self._log.exited(group)

    def check(self, now: float) -> None:
        """Read new events, and end processes that hang or have missed their deadline."""
        if self.exit_reason is not None:
            return
        for command in self._deployment.check(self.group, self._log, now):
            self._take_request(command, now)
        self.group.observe(now)
        self._stop_if_full(now)
        if self._spare_timing.is_due(self.group.leader, now):
            self._workers.refill()
        if self.candidate is not None:
            self.candidate.observe(now)
            for worker in self.group.workers:
                worker.last_sign = now  # it waits for the candidate
        timeout_s = self.group.hang_timeout_s(self._spec.hang_timeout_s)
        for group in filter(None, (self.group, self.candidate)):
            group.end_if_hung(now, timeout_s)
            group.end_if_lost(now)
        self._end_if_late(now)
        self._sample_resources(now)
        self._record_illegal_transitions()

    def close(self) -> None:
        """End all processes that are left, and convert the captures that they have left."""
        for group in self.groups:
            group.end(LEAVE_GRACE_S)
        own = {worker.folder.worker for worker in self.group.workers}  # not those of other hosts
        with contextlib.suppress(OSError, RunFolderError):  # a full disk: the files stay
            folders = [each for each in worker_folders(self._folder) if each.worker in own]
            convert_last_captures(folders)
        self._log.close()
        self._deployment.close()

    def _take_request(self, request: Request, now: float) -> None:
        if isinstance(request, protocol.Stop | protocol.Reconfigure):
            self._log.sent(request)
        match request:
            case KillRun():
                self.group.kill("asked")
            case KillProcess():
                for worker in self.group.workers:
                    if worker.folder.worker == request.number:
                        worker.kill_requested_at = now
                        worker.kill("asked")
            case protocol.Stop(why=str(why)) if self.group.leader.step is None:
                self.group.kill("closing", f"{why} {NOTHING_LOST}")
            case protocol.Stop():
                if not self._deployment.stop(self.group):
                    self._begin_stop(RunEvent.STOP_REQUESTED, now)
                    self.group.send(request)
            case _ if self.candidate is not None:
                self._held.append(request)
            case _:
                self.group.send(request)

    def _take_from_group(self, message: Mapping[str, Any], now: float) -> None:
        group = self.group
        if not self._deployment.take_message(group, message):
            return
        if "opened" in message:
            self.machine.advance(RunEvent.OPENED)
            group.release_ports()
        elif "replace" in message:
            self._start_candidate(protocol.Replacement(**message["replace"]))
        elif "done" in message and group.is_done:
            group.leave(protocol.Leave(next(self.numbers)))
        elif "gone" in message and group.is_gone:
            self._end(now)

    def _take_from_candidate(
        self, candidate: ProcessGroup, message: Mapping[str, Any], now: float
    ) -> None:
        if "opened" in message:
            self._hand_over_to(candidate, now)
        elif "gone" in message and candidate.is_gone:
            self._drop(candidate, now)

    def _has_restarted(self, group: ProcessGroup, lost: WorkerMonitor) -> bool:
        """Start a fresh process in place of one that has ended. Returns False if not possible."""
        if self._restarts.replace_unused(group, lost):
            if group is not self.candidate:
                self._log.launched(group)
            return True
        generation = self._latest_generation + 1
        if group is not self.group or not self._restarts.restart(group, lost, generation):
            return False
        self._latest_generation = generation
        return True

    def _start(self, start: GroupStart) -> ProcessGroup:
        self._latest_generation = max(self._latest_generation, start.generation)
        return self._deployment.start_group(start, self._workers, self._inbox, self.numbers)

    def _start_candidate(self, request: protocol.Replacement) -> None:
        if not self.machine.advance(RunEvent.REPLACEMENT_REQUESTED):
            return
        try:
            self.candidate = self._start(
                GroupStart(
                    self._folder,
                    parse_spec(request.spec),
                    self._latest_generation + 1,
                    Path(request.checkpoint),
                    request,
                )
            )
        except (OSError, LabError) as error:
            self.machine.advance(RunEvent.CANDIDATE_LOST)
            self.group.send(protocol.Resume(next(self.numbers), str(error)))

    def _hand_over_to(self, candidate: ProcessGroup, now: float) -> None:
        """Make the candidate, which has done a step, the current group; the old one leaves."""
        self.machine.advance(RunEvent.CANDIDATE_OPENED)
        old, self.candidate = self.group, None
        candidate.release_ports()
        self._log.launched(candidate)
        for worker in old.workers:
            worker.hand_over()
        old.send(protocol.Leave(next(self.numbers)))
        self._leaving.append((old, now + LEAVE_GRACE_S))
        self.group = candidate
        if self.stop_by is not None:
            # A stop that came during the change may have gone to the old group.
            candidate.send(protocol.Stop(next(self.numbers)))
        self._send_held()
        self._workers.refill()

    def _drop(self, candidate: ProcessGroup, now: float) -> None:
        """Resume the current group after the candidate ended before its first step."""
        self.machine.advance(RunEvent.CANDIDATE_LOST)
        self.candidate = None
        candidate.end(LEAVE_GRACE_S)
        message = candidate.exit_reason(candidate.root_cause()).message
        message = message or "The new worker ended before its first step."
        self._log.rejected(candidate, message, self.numbers)
        for worker in self.group.workers:
            worker.last_sign = now
        self.group.send(protocol.Resume(next(self.numbers), message))
        self._send_held()
        self._workers.refill()

    def _send_held(self) -> None:
        held, self._held = self._held, []
        for command in held:
            self.group.send(command)

    def _begin_stop(self, event: RunEvent, now: float) -> None:
        """Start the grace time in which the group must end. A second Stop does not prolong it."""
        self.machine.advance(event)
        if self.stop_by is None:
            self.stop_by = now + self._stop_grace_s
            self.group.leader.step_at_stop = self.group.leader.step

    def _stop_if_full(self, now: float) -> None:
        """Stop a run without a number of steps once its record has become too large."""
        leader = self.group.leader
        if self.stop_by is not None or not leader.spec:
            return
        why = self._record_limit.why_full(leader.spec, now)
        if why is not None:
            self._log.write(Note("warning", why))
            self._take_request(protocol.Stop(next(self.numbers)), now)

    def _sample_resources(self, now: float) -> None:
        sampled = self._resources.sample(self._living, now)
        if sampled is not None:
            self._log.write(sampled)

    def _living(self) -> list[RunProcess]:
        return [
            RunProcess(worker.process.pid, worker.folder.worker, worker.folder.generation)
            for group in self.groups
            for worker in group.workers
            if worker.process.poll() is None
        ]

    def _end_if_late(self, now: float) -> None:
        """Kill a group that should have left by now."""
        for group, leave_by in self._leaving:
            if now > leave_by:
                group.kill("impatient")
        leader = self.group.leader
        if leader.finished is not None and self.stop_by is None:
            self._begin_stop(RunEvent.LEADER_FINISHED, now)
        if self.stop_by is None:
            return
        why = leader.why_late(now, self.stop_by, self._stop_grace_s)
        if why is not None:
            self.group.kill("impatient", why)

    def _end(self, now: float) -> None:
        """The current group has ended, and the run with it, unless it may begin again."""
        self.group.observe(now)
        cause = self.group.root_cause()
        reason = self.group.exit_reason(cause)
        if self._restart(reason):
            return
        self.exit_code = cause.process.poll()
        if reason.verdict not in EXPECTED_ENDS:
            detail = cause.failed.detail if cause.failed else ""
            self.failure_detail = detail or cause.process.stderr_tail()
        if self.candidate is not None:
            self.candidate.kill("asked")
        self._log.exited(self.group)
        self.machine.advance(RunEvent.GROUP_ENDED)
        self._record_illegal_transitions()
        self.exit_reason = reason

    def _restart(self, reason: ExitReason) -> bool:
        """Begin again at the last checkpoint with fresh processes, if the run may."""
        lost = self.group
        saved = last_saved_state(self._folder, lost.leader.folder.generation)
        was_lost = lost.first_loss_at is not None and reason.verdict not in EXPECTED_ENDS
        may = self._deployment.can_restart and self._restarts_left and self.stop_by is None
        if not was_lost or not may or saved is None:
            return False
        self._restarts_left -= 1
        spec = parse_spec(lost.leader.spec) if lost.leader.spec else self._spec
        try:
            fresh = self._start(
                GroupStart(self._folder, spec, self._latest_generation + 1, saved.path)
            )
        except (OSError, LabError):
            return False
        self.machine.advance(RunEvent.RESTARTED)
        self._log.exited(lost)  # which says why
        again = "The run restarts from its last checkpoint."
        self._log.write(Note("warning", again, {"checkpoint": str(saved.path)}))
        if self.candidate is not None:
            self.candidate.end(LEAVE_GRACE_S)
            self.candidate = None
        self.group = fresh
        self._log.launched(fresh)
        return True

    def _record_illegal_transitions(self) -> None:
        groups = [group.machine for group in self.groups]
        workers = [worker.machine for group in self.groups for worker in group.workers]
        self._log.illegal_transitions([self.machine, *groups, *workers])
