"""`lab.record`: the recorder for programs outside of the lab.

The lab's own runs know their strategy, replicas and devices. This module asks TensorFlow for them;
what TensorFlow does not reveal stays unknown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from strategy_core.cluster.discovery.resolve import resolve
from strategy_core.cluster.discovery.task_address import OwnTask
from strategy_core.cluster.telemetry.clock import join_clock
from strategy_core.cluster.telemetry.link_meter import LinkMeter
from strategy_core.planning import strategy_catalog
from strategy_core.processes.resource_use import ResourceSampler, own_times
from strategy_core.recorder.examples import num_examples
from strategy_core.recorder.failure import failed_by
from strategy_core.recorder.graph_trace import Variables
from strategy_core.recorder.recorder import Recorder
from strategy_core.recorder.stack_sampler import StackSampler
from strategy_core.recorder.step import RecordedStep
from strategy_core.runtime.environment import environment
from strategy_core.runtime.live_objects import instances
from strategy_profiles.errors import LabError
from strategy_profiles.reporting import units
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import FinishedStatus, Note, SegmentOpened
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import Program, create_run_file, program_of
from strategy_profiles.run.topology import has_coordinator
from strategy_profiles.spec.run_spec import Capture


def _own_program() -> Program | None:
    """The script that this process runs; None of a notebook, a module or code without a file."""
    main = sys.modules.get("__main__")
    file, script = getattr(main, "__file__", None), sys.argv[0] if sys.argv else ""
    if not file or not script or Path(file).resolve() != Path(script).resolve():
        return None
    return program_of(str(Path(script).resolve()), sys.argv[1:], ["python", script])


class ProgramRecorder:
    """A recorder that opens its segment with the first step."""

    def __init__(
        self,
        path: str | Path,
        strategy: Any = None,
        *,
        capture: Capture | None = None,
        global_batch_size: int | None = None,
        variables: Variables = (),
    ) -> None:
        self.path = Path(path)
        if worker_number() == 0:  # in a cluster, the leader creates the run that all workers share
            create_run_file(self.path, recorded_by="record", program=_own_program())
        self.recorder = join_run(self.path, capture)
        self._strategy = strategy
        self._global_batch_size = global_batch_size
        self._variables = variables
        self._is_open = False
        self._num_fetched: int | None = None
        """Examples of the batch that `dataset()` yielded and no step has taken."""
        self._counts_examples = True
        """Whether the program did not say how many examples the open step has."""

    def step(self, examples: int | None = None) -> AbstractContextManager[RecordedStep]:
        """Context manager around one training step: the call of the `tf.function` and its input.

        If the batches come from `dataset()`, the step includes fetching its batch, and has as many
        examples as that if `examples` does not say otherwise. Raises no errors of its own once the
        run folder exists: a failure to record never ends the training.
        """
        self.open()
        known = (examples, self._num_fetched, self._global_batch_size)
        self._num_fetched = None
        self._counts_examples = examples is None
        return self.recorder.step(next((each for each in known if each is not None), None))

    def dataset(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the same batches, and count the time to fetch each as the input time of its
        step."""
        self.open()
        return self._counted(self.recorder.dataset(batches))

    def _counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        task = _configured_task()
        # In a cluster a process knows its own share of a batch alone.
        is_whole = task is None or len(task.cluster) == 1
        for batch in batches:
            number = num_examples(batch) if is_whole else None
            step = self.recorder.open_step
            if step is None:
                self._num_fetched = number
            elif self._counts_examples and number is not None:
                step.examples = number
            yield batch

    def open(self) -> None:
        """Open the segment if it is not open.

        The first step does so; set the strategy before it.
        """
        if self._is_open:
            return
        self._is_open = True
        strategy = self._strategy or seen_strategy()
        segment = segment_of(strategy, self._global_batch_size)
        self.recorder.open_segment(segment, variables=self._variables)
        if said := about_missing_devices(segment):
            self.recorder.write(Note("warning", said))

    def show(self) -> None:
        """Show the report of what is recorded so far below the cell of a notebook.

        Raises LabError outside of IPython.
        """
        try:
            from IPython.display import display
        except ModuleNotFoundError as error:
            raise LabError(
                "show() draws in a notebook, and IPython is not installed",
                advice=f"Open the run instead: strategy-lab ui --runs {self.path.parent}",
            ) from error
        import strategy_profiles

        display(strategy_profiles.load(self.path))

    def failed(self, error: BaseException) -> None:
        """Record the exception that ended the program; after Ctrl-C the run is stopped."""
        self.recorder.close("stopped" if isinstance(error, KeyboardInterrupt) else failed_by(error))

    def close(self, status: FinishedStatus = "finished") -> None:
        self.recorder.close(status)


def join_run(run: Path, capture: Capture | None, stacks: StackSampler | None = None) -> Recorder:
    """A recorder for this process of a program, in a run folder that exists or will.

    Starts TensorFlow's runtime, so create logical devices first.
    """
    folder = worker_folder(run, worker_number())
    log = EventLog(folder.events)
    recorder = Recorder(folder, capture=capture, log=log, stacks=stacks, is_guest=True)
    recorder.write(environment())
    task = _configured_task()
    if task is not None and len(task.cluster) > 1:
        recorder.clock = join_clock(task.cluster, task.process)
        recorder.links = LinkMeter(task.cluster, task.process)
    else:  # of two processes on one machine, each would take the other for another program
        recorder.resources = ResourceSampler(read_groups=own_times)
    return recorder


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
      path: the run folder. It is created; a folder that already holds a run is refused. The workers
        of a cluster (TF_CONFIG) share it: the leader's steps are captured, the others' are timed.
      strategy: the `tf.distribute.Strategy` of the steps. Default: the strategy in scope, or else
        the strategy with the most replicas that the program has created.
      capture: how much to record. Default: as in a RunSpec.
      global_batch_size: examples per step, for the throughput. Batches of `recorder.dataset()` are
        counted instead, except in a cluster.
      variables: tf.Variables, or a function that returns them, to list under their own names.

    Raises RunFolderError if the folder cannot be created. An exception in the program is recorded
    as the run's failure and re-raised.
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
    except BaseException as error:
        program.failed(error)
        raise
    program.close()


def seen_strategy() -> Any:
    """The strategy in scope, else the live strategy with the most replicas, else the default.

    Training loops seldom run inside `strategy.scope()`, and TensorFlow keeps no list of strategies,
    so this searches the objects of Python's garbage collector.
    """
    if tf.distribute.has_strategy():
        return tf.distribute.get_strategy()
    # By its class, not a trait: another program made it, and a row of the catalog need not fit it.
    alive = instances(tf.distribute.Strategy)
    return max(alive, key=lambda s: s.num_replicas_in_sync, default=tf.distribute.get_strategy())


def segment_of(
    strategy: Any, global_batch_size: int | None, number: int = 0, first_step: int = 0
) -> SegmentOpened:
    """The segment of a program under a strategy, as far as TensorFlow reveals it."""
    own = [full_name(device) for device in _replica_devices(strategy)]
    num_replicas = strategy.num_replicas_in_sync
    num_workers = max(1, num_replicas // max(1, len(own)))
    name = strategy_name(strategy)
    row = strategy_catalog.find(name)
    num_servers = _num_tasks("ps") if row is not None and row.has_servers else 0
    replica_devices = _of_all_workers(own, num_workers)
    if num_servers:  # each worker has a replica, that does steps of its own
        num_replicas = num_workers = max(1, _num_tasks("worker"))
        replica_devices = [_on_worker(own[0], task) for task in range(num_workers)]
    return SegmentOpened(
        segment=number,
        strategy=name,
        num_replicas=num_replicas,
        num_workers=num_workers,
        global_batch_size=global_batch_size,
        first_step=first_step,
        started_ns=time.time_ns(),
        replica_devices=replica_devices,
        cross_device_ops="auto",
        spec={"parameter_servers": num_servers} if num_servers else {},
        has_central_copy=None if row is None else row.has_central_copy,
    )


def about_missing_devices(segment: SegmentOpened) -> str | None:
    """A sentence on replicas whose device this process does not have; None without any.

    TensorFlow takes any names. It places the ops of such a replica on a device that another one has
    (soft placement), and a collective op of both waits there for a second device, without end. A
    strategy of one replica, or one that reduces to one device, trains nevertheless.
    """
    if segment.num_workers > 1 or has_coordinator(segment):
        return None  # the devices of other processes
    there = {_short_name(device.name) for device in tf.config.list_logical_devices()}
    wanted = dict.fromkeys(_short_name(device) for device in segment.replica_devices)
    missing = [name for name in wanted if name not in there]
    if not missing:
        return None
    names, one = units.listed(missing), len(missing) == 1
    waits = ", where a collective all-reduce waits without end" if segment.num_replicas > 1 else ""
    return (
        f"The strategy has {'a replica' if one else 'replicas'} on {names}, and this process has "
        f"no such device{'' if one else 's'}. TensorFlow places {'its' if one else 'their'} ops "
        f"elsewhere{waits}. "
        "Create the devices before anything else of TensorFlow is used, with "
        "`tf.config.set_logical_device_configuration`, or build the strategy without these names"
    )


def _short_name(device: str) -> str:
    named = tf.DeviceSpec.from_string(device)
    return f"{named.device_type}:{named.device_index}"


def _num_tasks(job: str) -> int:
    """Parameter servers (`ps`) or workers that this process is connected to.

    In TensorFlow 2.21 the `cluster_resolver` of their strategy is None.
    """
    devices = [tf.DeviceSpec.from_string(each.name) for each in tf.config.list_logical_devices()]
    return len({device.task for device in devices if device.job == job})


def _on_worker(device: str, task: int) -> str:
    return str(tf.DeviceSpec.from_string(device).replace(job="worker", task=task).to_string())


def _replica_devices(strategy: Any) -> Sequence[str]:
    """Devices of the replicas in this process."""
    try:
        return tuple(strategy.extended.worker_devices)
    except RuntimeError:  # the default strategy names none: TensorFlow places its ops
        first = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return (first[0].name,)


def _of_all_workers(devices: list[str], num_workers: int) -> list[str]:
    """Devices of the replicas of all processes, by those of this one: each has as many."""
    if num_workers == 1:
        return devices
    cluster = tf.distribute.cluster_resolver.TFConfigClusterResolver().cluster_spec().as_dict()
    tasks = [
        (job, index) for job in ("chief", "worker") for index in range(len(cluster.get(job, ())))
    ]
    if len(tasks) != num_workers:
        return devices
    return [
        str(tf.DeviceSpec.from_string(device).replace(job=job, task=index).to_string())
        for job, index in tasks
        for device in devices
    ]


def strategy_name(strategy: Any) -> str:
    """The lab's name for a strategy's class, or for its nearest known base class."""
    parts = {
        part: row.name
        for row in strategy_catalog.rows()
        for part in (row.title.removesuffix("Strategy"), *row.known_as)
    }
    for kind in type(strategy).__mro__:
        # longest first: "Mirrored" is part of other names
        for part in sorted(parts, key=len, reverse=True):
            if part in kind.__name__:
                return parts[part]
    return type(strategy).__name__


def full_name(device: str) -> str:
    """Full device name as in the placed graph.

    `/cpu:0` becomes `/job:localhost/replica:0/task:0/device:CPU:0`.
    """
    base = tf.DeviceSpec.from_string("/job:localhost/replica:0/task:0")
    named = base.make_merged_spec(tf.DeviceSpec.from_string(device))
    if named.device_type is None:
        named = named.replace(device_type="CPU", device_index=0)
    if named.device_index is None:
        named = named.replace(device_index=0)
    return str(named.to_string())


def _configured_task() -> OwnTask | None:
    """This process's task according to TF_CONFIG, or None if TF_CONFIG is missing or invalid."""
    try:
        return resolve("TF_CONFIG")
    except LabError:
        return None


def own_task() -> tuple[str, int] | None:
    """Job and number of this process's task, as the names of its devices have them."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    job = resolver.task_type
    return (job, int(resolver.task_id or 0)) if job else None


def worker_number() -> int:
    """This process's worker number from TF_CONFIG; 0 for a single process."""
    task = _configured_task()
    if task is not None:
        return task.process
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return int(resolver.task_id or 0)
