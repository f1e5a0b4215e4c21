"""The processes of one generation of a run as one: one worker, or all the tasks of a cluster.

The first is the leader: its steps are the run's. When one of several is lost the others soon fail
too, each with an error that tells of its peers. So the group is given a moment to gather what
everyone says, ends whoever is left, and names the one whose own fault it was (`culprit`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from strategy_core.cluster import tasks
from strategy_core.cluster.network.isolation import Network, lay_network
from strategy_core.cluster.tasks import Cluster
from strategy_core.launcher.hang_diagnosis import HangDiagnosis
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.processes import protocol
from strategy_core.processes.exit_reason import ExitReason, KillReason
from strategy_core.processes.namespace_handle import NamespaceHandle
from strategy_lab.profiles.run.events import Failed
from strategy_lab.profiles.spec.run_spec import RunSpec

STOPPED_S = 3.0
"""A stopped process (SIGSTOP) holds its peers up: none is waited for longer."""
IMPORT_TIMEOUT_S = 120.0
EVIDENCE_S = 1.0
"""So long may the others speak once one is lost."""
CULPRIT_S = 4.0
"""So long where whoever was lost only heard of another's end: who that was is not known yet."""
ENDING_S = 30.0
"""So long where one is ending: what a process holds, a busy machine takes its time to free."""


@dataclass
class ProcessGroup:
    """Driven by one thread, which passes the time in."""

    members: list[WorkerMonitor]
    cluster: Cluster | None = None
    trouble_at: float | None = None
    """Monotonic seconds when one was lost that should not have been."""
    diagnosis: HangDiagnosis | None = None
    """Under way while one gives no sign of life."""
    is_ending: bool = False
    """It was killed as a whole: nobody is to blame."""
    network: Network | None = None
    """Where the processes of a cluster are; kept until they have ended."""
    is_part: bool = False
    """Its cluster has processes beside these, which others watch."""
    silent_peers: str = ""
    """Those of them that no longer answered when one of these heard of a peer's end."""

    @property
    def leader(self) -> WorkerMonitor:
        return self.members[0]

    @property
    def generation(self) -> int:
        """The latest among its processes: a lost one may have been followed by another."""
        return max(member.folder.generation for member in self.members)

    @property
    def is_gone(self) -> bool:
        return all(member.is_gone for member in self.members)

    @property
    def is_done(self) -> bool:
        """Whether every one has closed its books and waits for leave to end.

        Of a coordinator's cluster its own books are all that there is to wait for.
        """
        if self.is_served:
            return self.leader.is_done
        return all(member.is_done or member.is_gone for member in self.members)

    @property
    def is_served(self) -> bool:
        """Whether the leader trains, and the others do what it sends them."""
        return self.cluster is not None and self.cluster.has_coordinator

    def let_latecomers_go(self) -> None:
        """End a process that came back too late: it has nothing to close."""
        for member in self.members:
            if not (member.is_done or member.is_gone):
                member.finished = "finished"
                member.process.kill()

    @property
    def pids(self) -> list[int]:
        return [m.process.pid for m in self.members if m.process.poll() is None]

    def title(self, member: WorkerMonitor) -> str | None:
        """What to call a member of several: `worker 1`; None where it is the only one."""
        return self.cluster.tasks[member.folder.worker].title if self.cluster else None

    def observe(self, now: float) -> None:
        for member in self.members:
            member.observe(now)

    def send(self, command: protocol.Command) -> None:
        """To every one; all hear the same commands in the same order."""
        for member in self.members:
            member.process.send(command)

    def kill(self, reason: KillReason, note: str = "") -> None:
        """End every one."""
        self.is_ending = True
        for member in self.members:
            if not member.is_gone:
                member.kill(reason, note)

    def take(self, member: WorkerMonitor, message: dict[str, Any], now: float) -> None:
        """Note what a member says of itself."""
        if "failed" in message:
            member.failed = msgspec.convert(message["failed"], Failed)
            member.follows = member.failed.follows
            self.lose(member, now)
        elif "done" in message:
            member.is_done = True
        elif "gone" in message:
            member.observe(now)
            member.is_gone = True
            if self.is_gone:
                self._leave_network()
            if member.finished is None and not member.replaced:
                self.lose(member, now)

    def replace(self, lost: WorkerMonitor, fresh: WorkerMonitor) -> None:
        """Put another process in a member's place, as if it had been there from the start."""
        self.members[self.members.index(lost)] = fresh
        lost_at = [member.lost_at for member in self.members if member.lost_at is not None]
        self.trouble_at = min(lost_at, default=None)

    def end_if_hung(self, now: float, timeout_s: float) -> None:
        """Kill whoever gives no sign of life; of several, the one that the others wait for."""
        is_known = any(m.killed_for is not None and not m.is_gone for m in self.members)
        if is_known or self.trouble_at is not None:
            return  # the others have nothing to do any more
        stopped_s = STOPPED_S if self.cluster else math.inf
        alive = [m for m in self.members if m.killed_for is None and not m.is_gone]
        hung: dict[int, str] = {}
        for member in alive:
            patience_s = timeout_s if member.process.ready else max(timeout_s, IMPORT_TIMEOUT_S)
            why = member.why_hung(now, patience_s, stopped_s)
            if why is not None:
                hung[member.folder.worker] = why
        if not hung:
            self.diagnosis = None
        elif self.diagnosis is None:
            self.diagnosis = HangDiagnosis(alive, now)
        elif self.diagnosis.is_over(now):
            found = self.diagnosis.culprit(alive, hung, now, is_served=self.is_served)
            if found is not None and self.is_part and self.diagnosis.is_waiting(found[0]):
                if found[0].waits_since is None:
                    found[0].waits_since = found[0].last_sign
                found = None  # those who watch its peers know whether one of them hangs
            self.diagnosis = None
            if found is not None:
                found[0].kill("hung", found[1])
                return
            for member in alive:
                if member.folder.worker in hung:
                    member.last_sign = now  # it waits, as it should

    def end(self, timeout_s: float) -> None:
        """Kill whoever is left, and wait for their end."""
        for member in self.members:
            member.process.kill()
        for member in self.members:
            member.process.wait(timeout_s)
        self._leave_network()

    def opened(self) -> None:
        """The first step is done: every server has its port."""
        if self.network is not None:
            self.network.let_ports_go()

    def _leave_network(self) -> None:
        if self.network is not None:
            self.network.close()

    def lose(self, member: WorkerMonitor, now: float) -> None:
        """It failed, was killed, or left early."""
        if self.is_ending or member.lost_at is not None:
            return
        member.lost_at = now
        if self.trouble_at is None:
            self.trouble_at = now

    def end_if_lost(self, now: float) -> None:
        """Once there was time to speak, end those who still wait for the lost one."""
        if self.is_ending or self.trouble_at is None:
            return
        if now > self.trouble_at + self._patience_s():
            for member in self.members:
                if member.is_ending:
                    self.lose(member, now)
            # Who serves takes no part in steps: its silence says nothing.
            for member in self.members[:1] if self.is_served else self.members:
                member.was_silent = member.was_silent or not (member.is_gone or member.failed)
            self.kill("peer")

    def _patience_s(self) -> float:
        """How long after the first loss it is known whose fault it was, if ever."""
        if any(member.lost_at is not None and not member.follows for member in self.members):
            return EVIDENCE_S
        return ENDING_S if any(member.is_ending for member in self.members) else CULPRIT_S

    def culprit(self) -> WorkerMonitor:
        """Whose end is the run's; the leader's where nothing was amiss while it had work to do."""
        if self.trouble_at is None or self.leader.finished is not None:
            return self.leader
        return min(self.members, key=_fault)

    def verdict(self, member: WorkerMonitor) -> ExitReason:
        """Why a member ended, with its name where there are several."""
        verdict, title = member.verdict(), self.title(member)
        if title is None or verdict.message is None:
            return verdict
        if member.killed_for == "peer" and member is not self.culprit():
            culprit = self.title(self.culprit())
            return ExitReason("killed", f"The launcher ended {title}: {culprit} was lost.")
        told = f"{title.capitalize()}: {verdict.message}"
        if member.follows and self.silent_peers:
            told = f"No answer from {self.silent_peers}. {told}"
        return ExitReason(verdict.verdict, told)


def start_group(
    spec: RunSpec,
    start_member: Callable[[int, Cluster | None, NamespaceHandle | None], WorkerMonitor],
) -> ProcessGroup:
    """Every process that `spec` takes, on this host; raises LabError where its network cannot be.

    `start_member` is given the process number and the cluster, None where one process is all, and
    the way into the cluster's network, None where that is the launcher's.
    """
    roles = tasks.roles(spec)
    if not roles:
        return ProcessGroup([start_member(0, None, None)])
    network = lay_network(spec.network, len(roles))
    cluster = tasks.cluster_of(spec, network.addresses, network.profilers)
    group = ProcessGroup([], cluster, network=network)
    try:
        for process, entrance in enumerate(network.entrances):
            group.members.append(start_member(process, group.cluster, entrance))
    except BaseException:
        for member in group.members:
            member.process.kill()
        network.close()
        raise
    return group


def _fault(member: WorkerMonitor) -> tuple[int, float]:
    """How much of a run's end is this member's own doing, and since when: the least is to blame."""
    since = member.lost_at if member.lost_at is not None else float("inf")
    if member.killed_for == "peer":
        return (1 if member.was_silent else 3), since
    if member.failed is not None:
        return (2 if member.follows else 0), since
    return (0 if member.lost_at is not None else 3), since
