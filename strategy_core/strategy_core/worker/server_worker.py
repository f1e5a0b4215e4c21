"""A process that runs TensorFlow's own server and executes what a coordinator sends.

A worker or a parameter server of ParameterServerStrategy has one device, a host of a TPU pod one
for each of its cores.

It knows nothing of steps. While it serves, this process records what only it can tell: that it
lives, its clock, its traffic.
"""

from __future__ import annotations

import os
import platform
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import tensorflow as tf

from strategy_core.cluster.membership import REPORT_LOST_PEERS
from strategy_core.cluster.network.ports import REUSE_PORT
from strategy_core.cluster.tasks import Cluster
from strategy_core.cluster.telemetry.clock import join_clock
from strategy_core.cluster.telemetry.link_meter import LinkMeter
from strategy_core.planning.device_plan import plan
from strategy_core.processes import parent_death, protocol
from strategy_core.processes.command_reader import CommandReader
from strategy_core.runtime.environment import host
from strategy_core.runtime.error_message import type_and_cause
from strategy_core.runtime.logical_devices import inventory
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_log import EventLog, read_events
from strategy_profiles.run.event_parts import Device, Threads
from strategy_profiles.run.events import Environment, Failed, Finished, WorkerStarted
from strategy_profiles.run.layout import worker_folder, worker_folders
from strategy_profiles.run.manifest import uid_of
from strategy_profiles.spec.run_spec import parse_spec

TELL_EVERY_S = 2.0
ORPHAN_LOOK_S = 0.2

Say = Callable[[dict[str, Any]], None]


def serves(command: protocol.Run) -> bool:
    """Whether this process only serves: the coordinator does the run."""
    if command.cluster is None or command.worker == 0:
        return False
    return Cluster.from_json(command.cluster).has_coordinator


class ServerRun:
    """What `WorkerRun` is for a process that trains."""

    def __init__(self, command: protocol.Run, commands: CommandReader, say: Say) -> None:
        assert command.cluster is not None
        self._cluster = Cluster.from_json(command.cluster)
        self._process = command.worker
        self._num_devices = _num_devices(command)
        self._has_own_launcher = command.has_own_launcher
        self._commands = commands
        self._say = say
        self._run = Path(command.run)
        folder = worker_folder(self._run, command.worker, command.generation)
        parent_death.print_into(folder.path)
        self._log = EventLog(folder.events)
        uid = uid_of(self._run)
        clocks = time.time_ns(), time.monotonic_ns()
        self._log.write(WorkerStarted(command.worker, os.getpid(), *clocks, uid))

    def run(self) -> int:
        """Serve until told to leave; returns the exit code of the process."""
        try:
            self._start()
            self._log.write(self._environment())
            self._serve()
        except Exception as error:
            return self._fail(error)
        return protocol.EXIT_DONE

    def _start(self) -> None:
        # The port is not reserved for a process with its own launcher.
        os.environ |= REPORT_LOST_PEERS | ({} if self._has_own_launcher else REUSE_PORT)
        os.environ["TF_CONFIG"] = self._cluster.tf_config(self._process)
        resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
        self._server = tf.distribute.Server(
            resolver.cluster_spec(),
            job_name=resolver.task_type,
            task_index=resolver.task_id,
            protocol="grpc",
            config=tf.compat.v1.ConfigProto(
                inter_op_parallelism_threads=self._num_threads(),
                device_count={"GPU": 0, "CPU": self._num_devices},
            ),
        )

        profiler = self._cluster.tasks[self._process].profiler
        if profiler:  # the coordinator asks for captures there
            tf.profiler.experimental.server.start(int(profiler.rpartition(":")[2]))

    def _num_threads(self) -> int:
        # A step's ops wait for each other's tensors: a smaller pool of threads can block for ever.
        num_others = max(self._cluster.num_workers, self._num_devices)
        return max(os.cpu_count() or 1, num_others + 1)

    def _environment(self) -> Environment:
        task = self._cluster.tasks[self._process]
        task_name = f"/job:{task.role}/replica:0/task:{task.index}"
        devices = [Device(f"{task_name}/device:CPU:{n}", "CPU") for n in range(self._num_devices)]
        threads = Threads(self._num_threads(), 0)
        return Environment(tf.__version__, platform.python_version(), devices, host(), threads)

    def _serve(self) -> None:
        """TensorFlow's threads serve; this one tells that they live (`Server.join` only waits)."""
        # Its books can be closed at any time: it is the coordinator who says when all is done.
        self._say({"done": True})
        links = LinkMeter(self._cluster, self._process)
        clock = join_clock(self._cluster, self._process)
        command: protocol.Command | None = None
        if not self._has_own_launcher:
            self._commands.stop_with_launcher()
        while not isinstance(command, protocol.Leave) and not self._commands.is_orphaned:
            self._log.write(links.count(None, None))
            for event in clock.take_events():
                self._log.write(event)
            command = self._commands.next_within(TELL_EVERY_S)
        if self._commands.is_orphaned:
            self._await_coordinator()
        self._log.write(links.count(None, None))
        self._log.write(Finished("finished", 0))

    def _await_coordinator(self) -> None:
        """Serve until the coordinator, which stops by itself too, has written its last record."""
        coordinator = [each for each in worker_folders(self._run) if each.worker == 0][-1]
        cursor, is_over = 0, False
        while not is_over:
            events, cursor = read_events(coordinator.events, cursor)
            is_over = any(isinstance(event, Finished | Failed) for event in events)
            time.sleep(ORPHAN_LOOK_S)

    def _fail(self, error: Exception) -> int:
        failed = Failed(type_and_cause(error), traceback.format_exc())
        self._say({"failed": msgspec.to_builtins(failed)})
        with suppress(RunFolderError):
            self._log.write(failed)
        return protocol.EXIT_FAILED


def _num_devices(command: protocol.Run) -> int:
    """How many devices this process serves: a host of a pod has several cores."""
    assert command.cluster is not None
    if command.cluster[command.worker]["role"] != "host":
        return 1
    return plan(parse_spec(command.spec), inventory()).num_logical
