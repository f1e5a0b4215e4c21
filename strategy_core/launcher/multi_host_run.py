"""A run of which this launcher has one process: its peers' launchers are on other hosts.

Nobody sees all of them, so some things are told otherwise than in a group of one host: whether the
others are there, by their ports; that a run stops or changes, by the workers among themselves;
that it is over, to those who only serve, by the coordinator's end. Commands are left in the run's
folder (`profiles.run.command_mailbox`), which the launcher of process 0 reads: it may be on another
host than the person who sends them. A change that needs fresh processes everywhere is left to
whatever started them.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from strategy_core.cluster.discovery.peer_probe import (
    PeerProbe,
    PeerProber,
    ProbeTimeouts,
    silent_peers,
)
from strategy_core.cluster.discovery.task_address import Place, split_address
from strategy_core.cluster.network.isolation import Network
from strategy_core.launcher.launch_log import LaunchLog
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.run_handle import STOP_GRACE_S, RunHandle, StartWorker
from strategy_core.planning.multi_host_reconfiguration import check_planned
from strategy_core.processes import protocol
from strategy_core.processes.exit_reason import ExitReason
from strategy_core.processes.worker_process import Message
from strategy_lab.profiles.errors import SpecError
from strategy_lab.profiles.run.command_mailbox import (
    OWN_NUMBERS_FROM,
    LeftCommand,
    read_commands,
)
from strategy_lab.profiles.run.events import CommandAnswered, Note
from strategy_lab.profiles.spec.run_spec import RunSpec

_TELL_AFTER_S = 15.0
_TELL_EVERY_S = 30.0
_COMMANDS_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Part:
    """What one host has of a run."""

    place: Place
    checkpoint: Path | None = None
    """Where the training state to begin with lies, the same in all processes."""
    tell: Callable[[str], None] = lambda _sentence: None
    """Is told for whom it is waited."""


class MultiHostRun(RunHandle):
    """The handle of one process of a cluster."""

    def __init__(
        self,
        part: Part,
        spec: RunSpec,
        folder: Path,
        start_worker: StartWorker,
        *,
        on_progress: Callable[[], None] = lambda: None,
        stop_grace_s: float = STOP_GRACE_S,
    ) -> None:
        place, now = part.place, time.monotonic()
        self._part = part
        self._is_server = place.cluster.has_coordinator and place.process != 0
        self._doorkeeper = PeerProber(place, PeerProbe(place, spec.cluster.start_timeout_s, now))
        self._tell_at = now + _TELL_AFTER_S
        self._has_left = self._has_joined = False
        self._patience = ProbeTimeouts(place)
        self._look_for_commands_at = now
        self._last_command = 0
        try:
            super().__init__(
                spec,
                folder,
                start_worker,
                on_progress=on_progress,
                stop_grace_s=stop_grace_s,
                launch_log=LaunchLog(folder, place.process, platform.node()),
                numbers_from=OWN_NUMBERS_FROM,
            )
        except BaseException:
            self._doorkeeper.dismiss()
            raise

    def _start(
        self,
        generation: int,
        spec: RunSpec,
        checkpoint: str | None,
        _asked: protocol.Replacement | None = None,
    ) -> ProcessGroup:
        """The one process of this host."""
        place, resume = self._part.place, checkpoint or self._part.checkpoint
        command = protocol.Run(
            next(self._numbers),
            str(self.folder.resolve()),
            place.process,
            generation,
            spec.to_json(),
            str(resume) if resume else None,
            cluster=place.cluster.to_json(),
            has_own_launcher=True,
        )
        addresses = [task.address for task in place.cluster.tasks]
        network = Network(addresses, [None], notes=[_exposure(place)])
        member = self._start_member(command)
        return ProcessGroup([member], place.cluster, network=network, is_part=True)

    def _take_from_group(self, message: Message) -> None:
        self._has_joined |= "joined" in message
        if "failed" in message and self._group.leader.follows:
            self._group.silent_peers = silent_peers(self._part.place)
        if self._is_server and "done" in message:
            return  # its books can be closed at any time: it serves until the coordinator leaves
        super()._take_from_group(message)

    def _take_command(self, command: protocol.Command | str | int) -> None:
        if self._is_server and isinstance(command, protocol.Stop):
            self._group.kill("impatient", "Stopped on request while serving.")
            return
        super()._take_command(command)

    def _look(self, now: float) -> None:
        if self.verdict is None:
            self._attend(now)
            if self._part.place.process == 0 and now >= self._look_for_commands_at:
                self._look_for_commands_at = now + _COMMANDS_EVERY_S
                self._take_commands()
        super()._look(now)

    def _take_commands(self) -> None:
        """Hand on what was left in the folder since the last look."""
        for left in read_commands(self.folder, self._last_command):
            self._last_command = left.number
            command = _command_of(left)
            if command is not None:
                self._take_command(command)
                continue
            told = "The file is not a command: it holds neither changes nor a stop."
            self._log.write(CommandAnswered(left.number, left.command, "rejected", self.step, told))

    def _attend(self, now: float) -> None:
        """Wait for the others, but not for ever; go where the coordinator has gone."""
        if self._is_server and self._doorkeeper.has_leader_left and not self._has_left:
            self._has_left = True
            self._group.send(protocol.Leave(next(self._numbers)))
        if self._has_met():
            if not self._is_server:
                self._doorkeeper.dismiss()
                self._wait_for_peers(now)
            return
        self._group.leader.last_sign = now  # it waits, as it should
        late, missing = self._doorkeeper.too_late(now), self._doorkeeper.missing
        if late is not None:
            self._group.kill("absent", late)
        elif missing and now > self._tell_at:
            self._tell_at = now + _TELL_EVERY_S
            self._part.tell(f"waiting for {missing}")

    def _wait_for_peers(self, now: float) -> None:
        """Peers may build for longer than a worker may hang: their own hosts watch them."""
        since = self._group.leader.waits_since
        timeout_s = (self._group.leader.spec or {}).get("hang_timeout_s", self.spec.hang_timeout_s)
        late = self._patience.too_late(since, now, timeout_s)
        if late is not None:
            self._group.kill("absent", late)
        elif since is not None and now > self._tell_at:
            self._tell_at = now + _TELL_EVERY_S
            self._part.tell(self._patience.sentence(since, now))

    def _has_met(self) -> bool:
        """Whether TensorFlow has brought the cluster together, as far as this process needs it."""
        if self._is_server:
            return self._doorkeeper.has_leader_come
        return self._has_joined or self._group.leader.spec is not None

    def _restart(self, _verdict: ExitReason) -> bool:
        return False  # the others would have to as well

    def _settle(self) -> None:
        super()._settle()
        self._doorkeeper.dismiss()


def _command_of(left: LeftCommand) -> protocol.Command | None:
    if left.command == protocol.Stop.command:
        return protocol.Stop(left.number)
    if left.command == protocol.Reconfigure.command and left.changes:
        return protocol.Reconfigure(left.number, left.changes)
    return None


def check_multi_host(spec: RunSpec) -> None:
    """Raise SpecError for what only a launcher of all processes can do."""
    check_planned(spec)
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


def _exposure(place: Place) -> Note:
    """Whoever reaches the port of a TensorFlow server can have it run what they like."""
    _, port = split_address(place.task.address)
    said = (
        f"TensorFlow's server of {place.task.title} listens on port {port} of every interface "
        f"of {platform.node()} and does not authenticate clients. Allow only the hosts of this "
        "run to reach it"
    )
    return Note("warning", said, {"ports": [port], "engine": place.engine})
