"""What `PreemptionCheckpointHandler` does when one worker of a cluster is about to be taken away.

Two workers train. One gets SIGTERM, as a cloud or a batch system sends it some seconds before it
takes a machine. The handler tells the others, all of them save after the same step and leave with
its restart code. Started again, all go on from that step: they have to be given the same folder,
or each would continue from its own last step without an error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_core.cluster.network.ports import REUSE_PORT, reserved_ports
from strategy_core.cluster.tasks import Cluster, Task
from strategy_core.processes.parent_death import tie_to

RESTART_CODE = 42
STEPS = 1_000_000
"""More than are done until the signal is obeyed, however slow the machine."""
PREEMPT_AT = 20


@dataclass(frozen=True, slots=True)
class PreemptionOutcome:
    """What the demonstration observed."""

    exit_codes: list[int]
    left_after: list[int]
    """Steps that each worker had done when it left."""
    went_on_from: list[int]
    """Steps that each worker found done when it was started again."""


def demonstrate(num_workers: int, folder: Path) -> PreemptionOutcome:
    """Train, take a worker away, start again. Each worker says its steps on its stdout."""
    with workers(num_workers, folder) as running:
        for worker in running:
            read_step(worker, at_least=PREEMPT_AT)
        running[-1].send_signal(signal.SIGTERM)
        left_after = [last_step(worker) for worker in running]
        for worker in running:
            assert worker.stdin is not None
            worker.stdin.close()
        codes = [worker.wait() for worker in running]
    with workers(num_workers, folder) as running:
        went_on_from = [read_step(worker, at_least=0) for worker in running]
    return PreemptionOutcome(codes, left_after, went_on_from)


def train(folder: str) -> None:
    """One worker; `TF_CONFIG` says which."""
    import tensorflow as tf

    from strategy_core.workloads import digits_mlp as workload

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=resolver)
    with strategy.scope():
        model, optimizer = workload.build_model(), workload.build_optimizer()
        optimizer.build(model.trainable_variables)
        steps_done = tf.Variable(0, trainable=False, dtype=tf.int64)
    batches = iter(strategy.experimental_distribute_dataset(workload.build_dataset(64, 0)))

    def replica_step(batch: Any) -> None:
        features, labels = batch
        with tf.GradientTape() as tape:
            losses = workload.loss_fn(labels, model(features, training=True))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=64)
        optimizer.apply(tape.gradient(loss, model.trainable_variables))

    @tf.function
    def train_step(batch: Any) -> None:
        strategy.run(replica_step, args=(batch,))
        steps_done.assign_add(1)

    def leave() -> None:
        say(left=int(steps_done.numpy()))
        sys.stdin.read()  # the first to go would take the others' coordination service along
        os._exit(RESTART_CODE)

    handler = tf.distribute.experimental.PreemptionCheckpointHandler(
        resolver,
        tf.train.Checkpoint(model=model, optimizer=optimizer, steps_done=steps_done),
        folder,  # one for all: see above
        tf.distribute.experimental.TerminationConfig(exit_fn=leave),
    )
    say(step=int(steps_done.numpy()))  # what the handler found there when it was made
    while int(steps_done.numpy()) < STEPS:
        handler.run(train_step, next(batches))
        say(step=int(steps_done.numpy()))


def say(**what: int) -> None:
    print(json.dumps(what), flush=True)


@contextmanager
def workers(num_workers: int, folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Start a cluster of `num_workers` processes that run `train` on this host, and yield them.

    `folder` is where all of them keep checkpoints. On exit the processes are killed and waited for.
    """
    with ExitStack() as stack:
        ports = stack.enter_context(reserved_ports(num_workers))
        cluster = Cluster(
            tuple(Task("worker", index, f"127.0.0.1:{port}") for index, port in enumerate(ports))
        )
        running = [_start(cluster.tf_config(index), folder) for index in range(num_workers)]
        try:
            yield running
        finally:
            for worker in running:
                worker.kill()
            for worker in running:
                worker.wait()
                for pipe in (worker.stdin, worker.stdout):
                    assert pipe is not None
                    pipe.close()


def _start(tf_config: str, folder: Path) -> subprocess.Popen[str]:
    """Start `train` in a process that ends with this one, its output in the pipe `stdout`."""
    module = "tests.strategy_core.cluster.preemption"
    command = [sys.executable, "-m", module, str(folder), str(os.getpid())]
    environment = {**os.environ, **REUSE_PORT, "TF_CONFIG": tf_config, "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )


def read_step(worker: subprocess.Popen[str], *, at_least: int) -> int:
    """Read a worker's output until it has done `at_least` steps. Raises RuntimeError if it ends."""
    return next(
        said["step"] for said in _printed_records(worker) if said.get("step", -1) >= at_least
    )


def last_step(worker: subprocess.Popen[str]) -> int:
    """Return the steps that a worker had done when it left. Raises RuntimeError without them."""
    return next(said["left"] for said in _printed_records(worker) if "left" in said)


def _printed_records(worker: subprocess.Popen[str]) -> Iterator[dict[str, int]]:
    assert worker.stdout is not None
    printed: deque[str] = deque(maxlen=10)
    while line := worker.stdout.readline():
        if line.startswith("{"):
            yield json.loads(line)
        else:
            printed.append(line)
    raise RuntimeError(f"A worker ended too early. The last that it printed: {''.join(printed)}")


if __name__ == "__main__":
    tie_to(int(sys.argv[2]))
    train(sys.argv[1])
