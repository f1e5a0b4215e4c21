"""One process of the clusters that `benchmarks.parameter_server` measures.

    python -m benchmarks.programs.parameter_server_task plain PIDS
                              a coordinator with nothing of the lab: says when its step is done
    python -m benchmarks.programs.parameter_server_task recording FOLDER ROUNDS STEPS PIDS
                              blocks of bare and of recorded steps in turns
    python -m benchmarks.programs.parameter_server_task serve [FOLDER]
                              a worker or a parameter server: TensorFlow's own; with a folder it
                              records, as the lab's does, between two commands on stdin

`TF_CONFIG` says which process this is. What it finds is one line of JSON on stdout.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring.blocks import in_turns
from benchmarks.parameter_server import SPEC
from strategy_core.processes.parent_death import tie_to


def main() -> None:
    tie_to(os.getppid())  # ends with the benchmark, also if that is killed
    what, *arguments = sys.argv[1:]
    if what == "serve":
        serve(Path(arguments[0]) if arguments else None)
    elif what == "plain":
        plain()
    else:
        folder, rounds, steps, pids = arguments
        recording(Path(folder), int(rounds), int(steps), [int(pid) for pid in pids.split(",")])
    sys.stdout.flush()
    os._exit(0)  # TensorFlow's own way out takes seconds


def plain() -> None:
    """The coordinator of TensorFlow's own tutorial, on the lab's workload."""
    import tensorflow as tf

    from strategy_core.workloads import digits_mlp as workload

    strategy = tf.distribute.ParameterServerStrategy(_resolver())
    with strategy.scope():
        model, optimizer = workload.build_model(), workload.build_optimizer()
        optimizer.build(model.trainable_variables)
    schedule = tutorial_closures(strategy, model, optimizer, workload)
    _say({"found": float(schedule().fetch())})
    sys.stdin.read()


def recording(folder: Path, rounds: int, steps: int, pids: list[int]) -> None:
    """Wall and processor seconds of blocks of steps, of each contestant; `pids` are the servers."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from strategy_core.cluster.telemetry.clock import join_clock
    from strategy_core.cluster.telemetry.link_meter import LinkMeter
    from strategy_core.recorder.recorder import Recorder
    from strategy_core.runtime import logical_devices
    from strategy_core.training import segment, state
    from strategy_profiles.run.layout import worker_folder

    logical_devices.create_logical_devices(SPEC)
    built = segment.build(SPEC)
    cluster = _cluster()
    recorder = Recorder(worker_folder(folder, 0), capture=SPEC.capture)
    recorder.links, recorder.clock = LinkMeter(cluster, 0), join_clock(cluster, 0)
    opened = built.opened(0, 0)
    recorder.open_segment(opened, lambda: state.variables(built.model, built.optimizer))
    loop: Any = built.loop

    def one_step() -> None:
        with recorder.step(examples=SPEC.global_batch_size) as step:
            loop.run_step(step)

    def recorded() -> None:
        done = 0
        while done + loop.num_outstanding < steps:
            one_step()
            done += 1
        for _ in loop.on_the_way():
            one_step()

    bare = tutorial_closures(built.strategy, built.model, built.optimizer, built.work)
    own = own_closures(built)
    contestants = {
        "recorded": recorded,
        "bare": lambda: _read(bare, steps),
        "own": lambda: _read(own, steps),
        "unread": lambda: _unread(built.strategy, bare, steps),
    }

    def tell(name: str) -> None:
        _say({"records": name == "recorded"})

    in_turns(contestants, rounds=1, steps=1, before=tell)  # traced, and warm
    _say({"found": in_turns(contestants, rounds=rounds, steps=1, processes=pids, before=tell)})
    sys.stdin.read()


def tutorial_closures(strategy: Any, model: Any, optimizer: Any, work: Any) -> Callable[[], Any]:
    """Schedules one step as TensorFlow's tutorial has it; gives its remote loss."""
    import tensorflow as tf

    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    def replica_step(batch: Any) -> Any:
        features, labels = batch
        with tf.GradientTape() as tape:
            losses = work.loss_fn(labels, model(features, training=True))
            loss = tf.reduce_mean(losses)
        optimizer.apply(tape.gradient(loss, model.trainable_variables))
        return loss

    def one_step(iterator: Any) -> Any:
        return strategy.run(replica_step, args=(next(iterator),))

    def dataset() -> Any:
        return work.build_dataset(SPEC.global_batch_size, 0).prefetch(2)

    closure = tf.function(one_step)
    iterator = iter(coordinator.create_per_worker_dataset(dataset))
    return lambda: coordinator.schedule(closure, args=(iterator,))


def own_closures(built: Any) -> Callable[[], Any]:
    """The same with the lab's step, which pulls each weight once and tells when."""
    from strategy_core.training.input_pipeline import global_batches
    from strategy_profiles.registered import registered

    file = registered("strategies")[SPEC.strategy].load()
    dataset, _ = global_batches(SPEC, built.work, 0)
    closures = file.closures(
        SPEC, built.work, built.strategy, built.model, built.optimizer, dataset
    )
    schedule: Callable[[], Any] = closures.schedule
    return schedule


def _read(schedule: Callable[[], Any], steps: int) -> None:
    """Steps whose losses are read, as a program has to that watches its training."""
    for value in [schedule() for _ in range(steps)]:
        value.fetch()


def _unread(strategy: Any, schedule: Callable[[], Any], steps: int) -> None:
    """Steps of which nothing is asked but that they are done."""
    import tensorflow as tf

    for _ in range(steps):
        schedule()
    tf.distribute.coordinator.ClusterCoordinator(strategy).join()


def serve(folder: Path | None) -> None:
    """TensorFlow's own server; with a folder the lab's, whose clock goes on while told not to
    record (16 datagrams every two seconds)."""
    import tensorflow as tf

    from strategy_core.processes import protocol
    from strategy_core.worker.server_worker import ServerRun

    if folder is None:
        resolver = _resolver()
        spec, role, index = resolver.cluster_spec(), resolver.task_type, resolver.task_id
        tf.distribute.Server(spec, job_name=role, task_index=index, protocol="grpc").join()
        return
    cluster, config = _cluster(), json.loads(os.environ["TF_CONFIG"])
    own = config["task"]["type"], config["task"]["index"]
    process = [(task.role, task.index) for task in cluster.tasks].index(own)
    command = protocol.Run(
        number=1,
        run=str(folder),
        worker=process,
        generation=0,
        spec=SPEC.to_json(),
        cluster=cluster.to_json(),
    )
    commands: Any = _Switch()
    ServerRun(command, commands, lambda _said: None).run()


class _Switch:
    """For a server where its launcher's commands are: lets it record while stdin says so."""

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._records = False
        threading.Thread(target=self._read, daemon=True).start()

    def next_within(self, timeout_s: float) -> None:
        """Comes back when it is time to record again."""
        while True:
            try:
                self._records = self._orders.get(timeout=timeout_s if self._records else None)
            except queue.Empty:
                return

    def _read(self) -> None:
        for text in sys.stdin:
            self._orders.put(json.loads(text)["records"])


def _resolver() -> Any:
    import tensorflow as tf

    return tf.distribute.cluster_resolver.TFConfigClusterResolver()


def _cluster() -> Any:
    """All processes of `TF_CONFIG`, by their numbers in the lab."""
    from strategy_core.cluster.tasks import cluster_of

    addresses = json.loads(os.environ["TF_CONFIG"])["cluster"]
    return cluster_of(SPEC, [a for role in ("chief", "worker", "ps") for a in addresses[role]])


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
