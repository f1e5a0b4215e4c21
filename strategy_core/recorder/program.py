"""`lab.record`: the recorder in a program of the user's own.

What the engine knows of its own runs is found out here from TensorFlow: the strategy in force, its
replicas and their devices. What cannot be found out stays unknown.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from strategy_core.cluster.discovery.resolve import resolve
from strategy_core.cluster.discovery.task_address import Place
from strategy_core.cluster.telemetry.clock import join_clock
from strategy_core.cluster.telemetry.link_meter import LinkMeter
from strategy_core.planning import strategy_catalog
from strategy_core.recorder.graph_trace import Variables
from strategy_core.recorder.recorder import Recorder
from strategy_core.recorder.step import RecordedStep
from strategy_core.runtime.environment import environment
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.run.event_log import EventLog
from strategy_lab.profiles.run.events import Failed, FinishedStatus, SegmentOpened
from strategy_lab.profiles.run.layout import worker_folder
from strategy_lab.profiles.run.manifest import create_run_file
from strategy_lab.profiles.spec.run_spec import Capture


class ProgramRecorder:
    """A recorder whose segment opens by itself with the first step."""

    def __init__(
        self,
        path: str | Path,
        strategy: Any = None,
        *,
        capture: Capture | None = None,
        global_batch_size: int | None = None,
        variables: Variables = (),
    ) -> None:
        run = Path(path)
        place = _place()
        worker = _worker() if place is None else place.process
        if worker == 0:  # the leader of a cluster makes the run that all of its workers share
            create_run_file(run, recorded_by="record")
        folder = worker_folder(run, worker)
        self.recorder = Recorder(
            folder, capture=capture, log=EventLog(folder.events), is_guest=True
        )
        self.recorder.write(environment())
        if place is not None and len(place.cluster) > 1:
            self.recorder.clock = join_clock(place.cluster, place.process)
            self.recorder.links = LinkMeter(place.cluster, place.process)
        self._strategy = strategy
        self._global_batch_size = global_batch_size
        self._variables = variables
        self._is_open = False

    def step(self, examples: int | None = None) -> AbstractContextManager[RecordedStep]:
        """Around one training step: the call of the `tf.function`, and what it is fed.

        With `dataset()` the step counts from asking for its batch. Raises nothing of its own
        once the run folder is made: recording that fails never ends the training.
        """
        self.open()
        return self.recorder.step(examples if examples is not None else self._global_batch_size)

    def dataset(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The same batches; the time that the program waits for each counts as its step's input."""
        self.open()
        return self.recorder.dataset(batches)

    def open(self) -> None:
        """Open the segment, unless it is. The first step does; before it a strategy may be set."""
        if self._is_open:
            return
        self._is_open = True
        strategy = self._strategy or seen_strategy()
        self.recorder.open_segment(
            segment_of(strategy, self._global_batch_size), variables=self._variables
        )

    def close(self, status: FinishedStatus = "finished") -> None:
        self.recorder.close(status)


@contextmanager
def record(
    path: str | Path,
    strategy: Any = None,
    *,
    capture: Capture | None = None,
    global_batch_size: int | None = None,
    variables: Variables = (),
) -> Iterator[ProgramRecorder]:
    """Record a program's steps into a new run folder.

        with lab.record("runs/mine") as recorder:
            for batch in recorder.dataset(dist_dataset):
                with recorder.step() as step:
                    step.result(loss=train_step(batch))

    Args:
      path: the run folder; made here, and refused where it holds a run. The workers of a cluster
        (TF_CONFIG) share it; the leader's steps are captured, the others' are timed.
      strategy: the `tf.distribute.Strategy` of the steps. Without it the one in scope, or the one
        that the program made last.
      capture: how much to record; the defaults of a RunSpec without it.
      global_batch_size: examples per step, for the throughput; unknown without it.
      variables: tf.Variables, or a function that gives them, to list under their own names.

    Raises RunFolderError where the folder cannot be made. An exception in the program is recorded
    as the run's failure and raised on.
    """
    program = ProgramRecorder(
        path,
        strategy,
        capture=capture,
        global_batch_size=global_batch_size,
        variables=variables,
    )
    try:
        yield program
    except KeyboardInterrupt:
        program.close("stopped")
        raise
    except BaseException as error:
        first = str(error).strip().partition("\n")[0]
        program.recorder.write(Failed(f"{type(error).__name__}: {first}"))
        raise
    program.close()


def seen_strategy() -> Any:
    """The strategy in scope, else the one with most replicas that is alive, else the default.

    A training loop is seldom inside `strategy.scope()`, and TensorFlow keeps no list of
    strategies; Python's collector knows every object that is alive.
    """
    if tf.distribute.has_strategy():
        return tf.distribute.get_strategy()
    alive = [o for o in gc.get_objects() if issubclass(type(o), tf.distribute.Strategy)]
    return max(alive, key=lambda s: s.num_replicas_in_sync, default=tf.distribute.get_strategy())


def segment_of(strategy: Any, global_batch_size: int | None) -> SegmentOpened:
    """The segment of a program under a strategy, as far as TensorFlow tells."""
    devices = [full_name(device) for device in _replica_devices(strategy)]
    num_servers = 0
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        num_servers = strategy.cluster_resolver.cluster_spec().num_tasks("ps")
    return SegmentOpened(
        segment=0,
        strategy=strategy_name(strategy),
        num_replicas=strategy.num_replicas_in_sync,
        num_workers=max(1, strategy.num_replicas_in_sync // max(1, len(devices))),
        global_batch_size=global_batch_size,
        first_step=0,
        started_ns=time.time_ns(),
        replica_devices=devices,
        cross_device_ops="auto",
        spec={"parameter_servers": num_servers} if num_servers else {},
    )


def _replica_devices(strategy: Any) -> Sequence[str]:
    """Devices of the replicas in this process."""
    try:
        return tuple(strategy.extended.worker_devices)
    except RuntimeError:  # the default strategy names none: TensorFlow places its ops
        first = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return (first[0].name,)


def strategy_name(strategy: Any) -> str:
    """The lab's name of a strategy's class (or of the one it is derived from)."""
    parts = {
        part: row.name
        for row in strategy_catalog.rows()
        for part in (row.title.removesuffix("Strategy"), *row.known_as)
    }
    for kind in type(strategy).__mro__:
        for part in sorted(parts, key=len, reverse=True):  # "Mirrored" is in other names, too
            if part in kind.__name__:
                return parts[part]
    return type(strategy).__name__


def full_name(device: str) -> str:
    """`/cpu:0` as the placed graph writes it: `/job:localhost/replica:0/task:0/device:CPU:0`."""
    base = tf.DeviceSpec.from_string("/job:localhost/replica:0/task:0")
    named = base.make_merged_spec(tf.DeviceSpec.from_string(device))
    if named.device_type is None:
        named = named.replace(device_type="CPU", device_index=0)
    if named.device_index is None:
        named = named.replace(device_index=0)
    return str(named.to_string())


def _place() -> Place | None:
    """Where TF_CONFIG puts this process among others; None where it says nothing that is known."""
    try:
        return resolve("TF_CONFIG")
    except LabError:
        return None


def _worker() -> int:
    """This process's number in a cluster (TF_CONFIG), 0 where it is alone."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return int(resolver.task_id or 0)
