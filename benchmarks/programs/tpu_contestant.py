"""One side of the TPU benchmark: a strategy in a process of its own, which steps when told to.

    python -m benchmarks.programs.tpu_contestant NAME WORKLOAD CORES

Reads one JSON command per line and answers each with a JSON line: `{"trace": 1}` traces the
workload's training step again (seconds), `{"steps": n}` does n of them (seconds per step, and CPU
seconds of all threads per step). Between commands it sleeps, so that others have the machine.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

Step = Callable[[], Any]

CONTESTANTS = ("tpu", "collective-ring", "reduction-to-one-device", "hierarchical-copy")
"""The emulation, and MirroredStrategy with each algorithm that CPU devices have; its default first.
"""
ON_HOSTS = ("pod", "tpu", "one-host", "pod-apart", "tpu-apart")
"""The same cores on hosts of their own, and in one process. What makes the difference: all cores in
one host process beside the program's own, and both with replicas that exchange no gradients."""
NUM_HOSTS = 2
APART = "-apart"
HOSTS = {"pod": NUM_HOSTS, "one-host": 1}
BATCH_PER_CORE = {"digits-cnn": 64, "resnet50": 2}


def main() -> None:
    name, workload, cores = sys.argv[1], sys.argv[2], int(sys.argv[3])
    is_apart, name = name.endswith(APART), name.removesuffix(APART)
    # What TensorFlow prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    from strategy_core import tpu

    if name not in HOSTS:
        tpu.configure_virtual_cores(cores)
    make = step_maker(workload, strategy_named(name, cores), is_apart=is_apart)
    step: Step = make
    for line in sys.stdin:
        command = json.loads(line)
        if "trace" in command:
            started = time.perf_counter()
            step = make()
            answer = {"s": time.perf_counter() - started}
        else:
            answer = _timed(step, command["steps"])
        answers.write(json.dumps(answer) + "\n")


def _timed(step: Step, num_steps: int) -> dict[str, float]:
    started, cpu_started = time.perf_counter(), _cpu_s()
    for _ in range(num_steps):
        step()
    return {
        "s": (time.perf_counter() - started) / num_steps,
        "cpu_s": (_cpu_s() - cpu_started) / num_steps,
    }


def _cpu_s() -> float:
    """Processor time of this process and the hosts of its pod."""
    hosts = (child.cpu_times() for child in psutil.Process().children())
    return time.process_time() + sum(times.user + times.system for times in hosts)


def strategy_named(name: str, num_cores: int) -> Any:
    """A contestant's strategy on the process's virtual CPU devices."""
    import tensorflow as tf

    from strategy_core import tpu

    if name in HOSTS:  # they end with this process
        return tpu.build(pod=tpu.Pod(HOSTS[name], num_cores // HOSTS[name]))
    if name == "tpu":
        return tpu.TPUStrategy(tpu.TPUClusterResolver(tpu=""))
    algorithm = {
        "collective-ring": lambda: None,  # what MirroredStrategy takes by itself on CPU devices
        "reduction-to-one-device": tf.distribute.ReductionToOneDevice,
        "hierarchical-copy": tf.distribute.HierarchicalCopyAllReduce,
    }[name]()
    devices = [f"CPU:{k}" for k in range(num_cores)]
    return tf.distribute.MirroredStrategy(devices, cross_device_ops=algorithm)


def step_maker(name: str, strategy: Any, *, is_apart: bool = False) -> Callable[[], Step]:
    """A function that traces the workload's training step again and returns it, bound to a batch.

    With `is_apart` gradients are computed, and neither exchanged nor applied.
    """
    import tensorflow as tf

    from strategy_core.training.workload import load

    workload = load(name)
    batch_size = BATCH_PER_CORE[name] * strategy.num_replicas_in_sync
    with strategy.scope():
        model = workload.build_model()
        optimizer = workload.build_optimizer()
        optimizer.build(model.trainable_variables)
    dataset = workload.build_dataset(batch_size, 0)
    batch = next(iter(strategy.experimental_distribute_dataset(dataset)))

    def replica_step(inputs: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = workload.loss_fn(labels, model(inputs, training=True))
            loss = tf.reduce_sum(losses) / batch_size
        gradients = tape.gradient(loss, model.trainable_variables)
        if is_apart:
            return tf.add_n([loss, *map(tf.reduce_sum, gradients)])
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def make() -> Step:
        def step(inputs: Any, labels: Any) -> Any:
            losses = strategy.run(replica_step, args=(inputs, labels))
            return strategy.reduce("sum", losses, axis=None)

        traced = tf.function(step, autograph=False)
        traced.get_concrete_function(*batch)
        return lambda: traced(*batch).numpy()

    return make


if __name__ == "__main__":
    main()
