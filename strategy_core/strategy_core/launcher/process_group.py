"""The processes of one generation of a run: one worker, or all the tasks of a cluster.

The first is the leader: its steps are the run's. When one of several is lost, the others soon fail
too, each with an error about its peers. The launcher therefore waits a moment for what each of them
reports, ends those that are left, and names the process whose loss came first (`root_cause`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from strategy_core.cluster.network.isolation import Network
from strategy_core.cluster.tasks import Cluster
from strategy_core.launcher.group_state import TRANSITIONS, GroupEvent, GroupState
from strategy_core.launcher.hang_diagnosis import HangDiagnosis
from strategy_core.launcher.state_machine import StateMachine
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.launcher.worker_state import WorkerState
from strategy_core.processes import protocol
from strategy_core.processes.exit_reason import ExitReason, KillReason

STOPPED_S = 3.0
"""Limit for a stopped process (SIGSTOP) of a cluster, which keeps its peers waiting."""
IMPORT_TIMEOUT_S = 120.0
EVIDENCE_S = 1.0
"""Time for the other processes to report something after one was lost."""
ROOT_CAUSE_S = 4.0
"""This time if the lost processes only reported losing a peer: the root cause is unknown."""
EXITING_S = 30.0
"""This time if a process is exiting: on a busy machine, freeing its memory takes long."""


@dataclass
class ProcessGroup:
    """The processes of one generation. Used by one thread, which passes the time in."""

    workers: list[WorkerMonitor]
    cluster: Cluster | None = None
    network: Network | None = None
    """The network of a cluster; closed once all processes have ended."""
    has_remote_peers: bool = False
    """Whether the cluster has processes on other hosts, which launchers there watch."""
    silent_peers: str = ""
    """Names of remote peers that did not answer when a process here lost a peer."""
    diagnosis: HangDiagnosis | None = None
    """The diagnosis in progress while a process gives no sign of life."""
    machine: StateMachine[GroupState, GroupEvent] = field(
        default_factory=lambda: StateMachine("the group", GroupState.WATCHED, TRANSITIONS)
    )

    @property
    def state(self) -> GroupState:
        return self.machine.state

    @property
    def was_killed(self) -> bool:
        """Whether the launcher has killed all processes."""
        return self.state is GroupState.ENDING

    @property
    def first_loss_at(self) -> float | None:
        """Monotonic seconds of the first loss of a process that was not replaced since."""
        losses = (worker.lost_at for worker in self.workers if worker.lost_at is not None)
        return min(losses, default=None)

    @property
    def leader(self) -> WorkerMonitor:
        return self.workers[0]

    @property
    def is_gone(self) -> bool:
        return all(worker.is_gone for worker in self.workers)

    @property
    def is_done(self) -> bool:
        """Whether all processes may leave; with a coordinator, whether the coordinator may."""
        if self.has_coordinator:
            return self.leader.is_done
        return all(worker.is_done or worker.is_gone for worker in self.workers)

    @property
    def has_coordinator(self) -> bool:
        """Whether the leader is a coordinator, which sends the other processes their work."""
        return self.cluster is not None and self.cluster.has_coordinator

    @property
    def pids(self) -> list[int]:
        return [w.process.pid for w in self.workers if w.process.poll() is None]

    def hang_timeout_s(self, default: float) -> float:
        """The spec's hang timeout in the current segment; `default` before the first segment."""
        return float((self.leader.spec or {}).get("hang_timeout_s", default))

    def title(self, worker: WorkerMonitor) -> str | None:
        """The name of a process in a cluster, such as `worker 1`; None outside of a cluster."""
        return self.cluster.tasks[worker.folder.worker].title if self.cluster else None

    def observe(self, now: float) -> None:
        for worker in self.workers:
            worker.observe(now)

    def send(self, command: protocol.Command) -> None:
        """Send to every process; all receive the same commands in the same order."""
        for worker in self.workers:
            worker.process.send(command)

    def leave(self, command: protocol.Leave) -> None:
        """Let all processes leave. Kill those that were not ready before the run's end."""
        for worker in self.workers:
            if not (worker.is_done or worker.is_gone):
                worker.dismiss()
        self.send(command)

    def kill(self, reason: KillReason, note: str = "") -> None:
        """Kill every process that has not ended."""
        self.machine.advance(GroupEvent.KILLED)
        for worker in self.workers:
            if not worker.is_gone:
                worker.kill(reason, note)

    def end(self, timeout_s: float) -> None:
        """Kill all processes, wait up to `timeout_s` for the end of each, and free the network."""
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.wait(timeout_s)
        self._close_network()

    def take_message(self, worker: WorkerMonitor, message: Mapping[str, Any], now: float) -> None:
        """Act on a message from a process, or on its end."""
        worker.take_message(message, now)
        if "failed" in message or worker.state is WorkerState.LOST:
            self._lose(worker, now)
        if self.is_gone:
            self._close_network()

    def replace(self, lost: WorkerMonitor, fresh: WorkerMonitor) -> None:
        """Replace a lost process by a fresh one, and drop the record of the loss."""
        self.workers[self.workers.index(lost)] = fresh
        if self.state is GroupState.LOSING and self.first_loss_at is None:
            self.machine.advance(GroupEvent.LOSSES_REPLACED)

    def release_ports(self) -> None:
        """Stop keeping the ports free: the first step is done, so every server has its own."""
        if self.network is not None:
            self.network.let_ports_go()

    def end_if_hung(self, now: float, timeout_s: float) -> None:
        """Kill a process that gives no sign of life: in a cluster, the one the others wait for.

        A diagnosis over some time finds it, so the first call after the timeout only begins one.
        """
        is_known = any(w.killed_for is not None and not w.is_gone for w in self.workers)
        if is_known or self.state is not GroupState.WATCHED:
            return  # the other processes are silent because they wait for the one that ends
        alive = [w for w in self.workers if w.killed_for is None and not w.is_gone]
        hung = self._hung(alive, now, timeout_s)
        if not hung:
            self.diagnosis = None
        elif self.diagnosis is None:
            self.diagnosis = HangDiagnosis(alive, now)
        elif self.diagnosis.is_over(now):
            self._conclude(self.diagnosis, alive, hung, now)
            self.diagnosis = None

    def end_if_lost(self, now: float) -> None:
        """Kill the processes that wait for a lost one, once all have had time to report."""
        first_at = self.first_loss_at
        if self.state is not GroupState.LOSING or first_at is None:
            return
        if now > first_at + self._evidence_s():
            for worker in self.workers:
                if worker.is_exiting:
                    self._lose(worker, now)
            self.kill("peer")

    def root_cause(self) -> WorkerMonitor:
        """The process whose end explains the group's: the leader, unless one was lost earlier."""
        if self.first_loss_at is None or self.leader.finished is not None:
            return self.leader
        return min(self.workers, key=self._rank_of_cause)

    def exit_reason(self, worker: WorkerMonitor) -> ExitReason:
        """Why a process ended, with its name if there are several."""
        reason, title = worker.exit_reason(), self.title(worker)
        if title is None or reason.message is None:
            return reason
        cause = self.root_cause()
        if worker.killed_for == "peer" and worker is not cause:
            return ExitReason(
                "killed", f"The launcher ended {title}: {self.title(cause)} was lost."
            )
        message = f"{title.capitalize()}: {reason.message}"
        if worker.lost_a_peer and self.silent_peers:
            message = f"No answer from {self.silent_peers}. {message}"
        return ExitReason(reason.verdict, message)

    def _lose(self, worker: WorkerMonitor, now: float) -> None:
        """Note that a process failed, was killed, or left early."""
        if self.was_killed or worker.lost_at is not None:
            return
        worker.lost_at = now
        self.machine.advance(GroupEvent.PROCESS_LOST)

    def _hung(self, alive: list[WorkerMonitor], now: float, timeout_s: float) -> dict[int, str]:
        """Why each process that gives no sign of life counts as hung, by process number."""
        stopped_s = STOPPED_S if self.cluster else math.inf
        hung: dict[int, str] = {}
        for worker in alive:
            limit_s = timeout_s if worker.process.ready else max(timeout_s, IMPORT_TIMEOUT_S)
            why = worker.why_hung(now, limit_s, stopped_s)
            if why is not None:
                hung[worker.folder.worker] = why
        return hung

    def _conclude(
        self,
        diagnosis: HangDiagnosis,
        alive: list[WorkerMonitor],
        hung: Mapping[int, str],
        now: float,
    ) -> None:
        """Kill the process that hangs; otherwise restart the time limits."""
        stuck = diagnosis.find_hung(alive, hung, now, has_coordinator=self.has_coordinator)
        if stuck is not None and self.has_remote_peers and diagnosis.may_wait_for_peers(stuck[0]):
            # Whether a peer hangs is for the peer's launcher to find out.
            if stuck[0].waits_since is None:
                stuck[0].waits_since = stuck[0].last_sign
            stuck = None
        if stuck is not None:
            stuck[0].kill("hung", stuck[1])
            return
        for worker in alive:
            if worker.folder.worker in hung:
                worker.last_sign = now

    def _evidence_s(self) -> float:
        """How long after the first loss its root cause can still become known."""
        if any(worker.lost_at is not None and not worker.lost_a_peer for worker in self.workers):
            return EVIDENCE_S
        return EXITING_S if any(w.is_exiting for w in self.workers) else ROOT_CAUSE_S

    def _rank_of_cause(self, worker: WorkerMonitor) -> tuple[int, float]:
        """Sort key by which the root cause of the group's end comes first."""
        since = worker.lost_at if worker.lost_at is not None else math.inf
        if worker.killed_for == "peer":
            # It reported nothing while its peers failed, so they probably waited for it. Servers
            # take no part in steps: their silence is no evidence.
            return (3 if self.has_coordinator and worker is not self.leader else 1), since
        if worker.failed is not None:
            return (2 if worker.lost_a_peer else 0), since
        return (0 if worker.lost_at is not None else 3), since

    def _close_network(self) -> None:
        if self.network is not None:
            self.network.close()
