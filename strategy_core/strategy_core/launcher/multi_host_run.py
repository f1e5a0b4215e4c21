"""The deployment of a run over several hosts: each host's launcher has one process of it.

No launcher sees all processes, so some facts arrive in other ways than within one host. A launcher
finds out by the ports of the other tasks whether these have started. The workers agree among
themselves when a run stops or changes. A server leaves when the coordinator's port has closed.
Commands are left in the run's folder (`strategy_profiles.run.command_mailbox`), which the launcher
of process 0 reads, because that launcher may be on another host than the user. A change that needs
other processes on every host is up to the program that started these.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from strategy_core.cluster.discovery.peer_probe import (
    PeerProbe,
    PeerProber,
    ProbeTimeouts,
    silent_peers,
)
from strategy_core.cluster.discovery.task_address import OwnTask, split_address
from strategy_core.cluster.network.isolation import Network
from strategy_core.launcher.deployment import Deployment, GroupStart, start_process
from strategy_core.launcher.inbox import Inbox
from strategy_core.launcher.launch_log import LaunchLog
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.worker_monitor import ProcessStart
from strategy_core.launcher.worker_pool import WorkerPool
from strategy_core.planning.reconfiguration import check_planned_on_hosts
from strategy_core.processes import protocol
from strategy_profiles.errors import SpecError
from strategy_profiles.run.command_mailbox import (
    OWN_NUMBERS_FROM,
    LeftCommand,
    read_commands,
)
from strategy_profiles.run.events import CommandAnswered, Note
from strategy_profiles.spec.run_spec import RunSpec

_REPORT_AFTER_S = 15.0
_REPORT_EVERY_S = 30.0
_COMMANDS_EVERY_S = 0.5


class MultiHost(Deployment):
    """The deployment of one process of a cluster.

    `report` is called with a sentence about the peers that the process waits for.
    """

    first_number = OWN_NUMBERS_FROM
    can_restart = False
    """The processes of the other hosts would have to restart, too."""

    def __init__(
        self, own_task: OwnTask, spec: RunSpec, folder: Path, report: Callable[[str], None]
    ) -> None:
        super().__init__()
        now = time.monotonic()
        self._own_task = own_task
        self._report_to = report
        self._spec = spec
        self._folder = folder
        self._is_server = own_task.cluster.has_coordinator and own_task.process != 0
        self._prober = PeerProber(own_task, PeerProbe(own_task, spec.cluster.start_timeout_s, now))
        self._timeouts = ProbeTimeouts(own_task)
        self._has_joined = self._was_told_to_leave = False
        self._report_at = now + _REPORT_AFTER_S
        self._read_commands_at = now
        self._last_command = 0

    def launch_log(self, run: Path) -> LaunchLog:
        return LaunchLog(run, self._own_task.process, platform.node())

    def start_group(
        self, start: GroupStart, workers: WorkerPool, inbox: Inbox, numbers: Iterator[int]
    ) -> ProcessGroup:
        """Start the one process of this host."""
        own_task = self._own_task
        command = start.command(
            next(numbers),
            own_task.process,
            cluster=own_task.cluster.to_json(),
            has_own_launcher=True,
        )
        addresses = [task.address for task in own_task.cluster.tasks]
        network = Network(addresses, [()], notes=[_exposure(own_task)])
        worker = start_process(ProcessStart(command), workers, inbox)
        return ProcessGroup([worker], own_task.cluster, network, has_remote_peers=True)

    def take_message(self, group: ProcessGroup, message: Mapping[str, Any]) -> bool:
        self._has_joined |= "joined" in message
        if "failed" in message and group.leader.lost_a_peer:
            group.silent_peers = silent_peers(self._own_task)
        # A server is done as soon as it serves. It leaves after the coordinator, not before.
        return not (self._is_server and "done" in message)

    def stop(self, group: ProcessGroup) -> bool:
        """A server does no steps at which it could obey Stop."""
        if self._is_server:
            group.kill("impatient", "Stopped on request while serving.")
        return self._is_server

    def check(self, group: ProcessGroup, log: LaunchLog, now: float) -> list[protocol.Command]:
        self._watch_peers(group, now)
        if self._own_task.process != 0 or now < self._read_commands_at:
            return []
        self._read_commands_at = now + _COMMANDS_EVERY_S
        return self._read_commands(log, group.leader.step)

    def close(self) -> None:
        self._prober.dismiss()

    def _read_commands(self, log: LaunchLog, step: int | None) -> list[protocol.Command]:
        """The commands that were left in the folder since the last call."""
        commands = []
        for left in read_commands(self._folder, self._last_command):
            self._last_command = left.number
            command = _command_of(left)
            if command is not None:
                commands.append(command)
                continue
            why = "The file is not a command: it holds neither changes nor a stop."
            log.write(CommandAnswered(left.number, left.command, "rejected", step, why))
        return commands

    def _watch_peers(self, group: ProcessGroup, now: float) -> None:
        """Wait for the peers up to the time limits; let a server leave after its coordinator."""
        if self._is_server and self._prober.has_leader_left and not self._was_told_to_leave:
            self._was_told_to_leave = True
            group.send(protocol.Leave(0))
        if self._has_met(group):
            if not self._is_server:
                self._prober.dismiss()
                self._check_wait(group, now)
            return
        group.leader.last_sign = now  # it waits for its peers to start
        late, missing = self._prober.too_late(now), self._prober.missing
        if late is not None:
            group.kill("absent", late)
        elif missing:
            self._report(f"waiting for {missing}", now)

    def _check_wait(self, group: ProcessGroup, now: float) -> None:
        """End this host's processes if its leader has waited too long for peers in a step.

        Until then, report the wait. The limit is longer than a worker may hang: the peers'
        launchers watch them, and allow more time while a peer builds a step.
        """
        since = group.leader.waits_since
        timeout_s = group.hang_timeout_s(self._spec.hang_timeout_s)
        late = self._timeouts.too_late(since, now, timeout_s)
        if late is not None:
            group.kill("absent", late)
        elif since is not None:
            self._report(self._timeouts.sentence(since, now), now)

    def _report(self, sentence: str, now: float) -> None:
        if now > self._report_at:
            self._report_at = now + _REPORT_EVERY_S
            self._report_to(sentence)

    def _has_met(self, group: ProcessGroup) -> bool:
        """Whether TensorFlow has connected the cluster, as far as this process needs it."""
        if self._is_server:
            return self._prober.has_leader_come
        return self._has_joined or group.leader.spec is not None


def _command_of(left: LeftCommand) -> protocol.Command | None:
    if left.command == protocol.Stop.command:
        return protocol.Stop(left.number)
    if left.command == protocol.Reconfigure.command and left.changes:
        return protocol.Reconfigure(left.number, left.changes)
    return None


def check_multi_host(spec: RunSpec) -> None:
    """Raise SpecError for what only a launcher of all processes can do."""
    check_planned_on_hosts(spec)
    if spec.cluster.restarts:
        raise SpecError(
            f"cluster.restarts={spec.cluster.restarts} needs one launcher for all processes; "
            "here each host has its own",
            advice="Start the run again with --resume, or let the engine restart it",
            field="cluster.restarts",
        )
    if spec.network.emulates:
        raise SpecError(
            "network.rate_mbit, delay_ms and interfaces emulate links within one host; this "
            "run is on several",
            advice="Leave them out",
            field="network",
        )


def _exposure(own_task: OwnTask) -> Note:
    """Any program that reaches the port of a TensorFlow server can have it run any op."""
    _, port = split_address(own_task.task.address)
    said = (
        f"TensorFlow's server of {own_task.task.title} listens on port {port} of every interface "
        f"of {platform.node()} and does not authenticate clients. Allow only the hosts of this "
        "run to reach it"
    )
    return Note("warning", said, {"ports": [port], "engine": own_task.engine})
