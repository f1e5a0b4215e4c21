"""The emulated TPUStrategy: its steps and tracing against MirroredStrategy's on the same devices,
and a partitioned matmul and convolution against the unpartitioned ones, with the bytes they move.

    python -m benchmarks.tpu [--quick] [--cores 4] [--workload digits-cnn resnet50]

All contestants live in one process and take turns, so that a busy spell of the machine meets all
of them; ratios are taken within a round. MirroredStrategy runs with each algorithm that several
strategies can share a process with (ring collectives cannot, and are slower on CPU devices); the
fastest is the one compared with. Targets: step 1.05x, tracing 1.5x.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

Step = Callable[[], Any]

BATCH_PER_CORE = {"digits-cnn": 64, "resnet50": 2}


def main() -> None:
    options = _options()
    from strategy_core import tpu

    tpu.configure_virtual_cores(options.cores)
    for workload in options.workload:
        _data_parallel(workload, options)
    _partitioned(options)


def _data_parallel(name: str, options: argparse.Namespace) -> None:
    """Steps and tracing of every contestant in turn; one line per contestant."""
    contestants = dict(_strategies(options.cores))
    traced: dict[str, list[float]] = {each: [] for each in contestants}
    steps: dict[str, Step] = {}
    makers = {each: _step_maker(name, strategy) for each, strategy in contestants.items()}
    for turn in range(options.traces):
        for each in _in_turn(list(makers), turn):
            started = time.perf_counter()
            steps[each] = makers[each]()
            traced[each].append(time.perf_counter() - started)
    taken, cpu = _rounds(steps, options.rounds, options.steps)
    best = min((each for each in taken if each != "tpu"), key=lambda e: statistics.median(taken[e]))
    print(f"\n{name}, {options.cores} cores, batch {BATCH_PER_CORE[name]} each")
    for each in contestants:
        step_ms = statistics.median(taken[each]) * 1e3
        trace_s = statistics.median(traced[each])
        print(f"  {each:26} step {step_ms:9.2f} ms   tracing {trace_s:6.2f} s")
    print(f"  step    tpu / {best}: {_spread(taken['tpu'], taken[best])}, target 1.05x")
    print(f"  its CPU time, all threads: {_spread(cpu['tpu'], cpu[best])}")
    print(f"  tracing tpu / {best}: {_spread(traced['tpu'], traced[best])}, target 1.5x")


def _strategies(num_cores: int) -> Iterator[tuple[str, Any]]:
    import tensorflow as tf

    from strategy_core import tpu

    devices = [f"CPU:{k}" for k in range(num_cores)]
    yield "tpu", tpu.TPUStrategy(tpu.TPUClusterResolver(tpu=""))
    for name, algorithm in (
        ("reduction-to-one-device", tf.distribute.ReductionToOneDevice()),
        ("hierarchical-copy", tf.distribute.HierarchicalCopyAllReduce()),
    ):
        yield name, tf.distribute.MirroredStrategy(devices, cross_device_ops=algorithm)


def _step_maker(name: str, strategy: Any) -> Callable[[], Step]:
    """A function that traces the workload's training step anew and returns it, bound to a batch."""
    import tensorflow as tf

    from strategy_core.workload import load

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


def _partitioned(options: argparse.Namespace) -> None:
    """One op over the cores of one replica, its bytes against the least that its split can move."""
    from strategy_core import tpu

    topology = tpu.initialize_tpu_system()
    cores = options.cores
    assignment = tpu.DeviceAssignment.build(
        topology, computation_shape=list(topology.mesh_shape), num_replicas=1
    )
    strategy = tpu.TPUStrategy(
        tpu.TPUClusterResolver(tpu=""),
        experimental_device_assignment=assignment,
        experimental_spmd_xla_partitioning=True,
    )
    print(f"\npartitioned over {cores} cores (input scattered from core 0)")
    for title, step, plain, least in _cases(strategy, cores, 256 if options.quick else 1024):
        taken, _ = _rounds({"split": step, "whole": plain}, options.rounds, options.steps)
        report = strategy.extended.last_expansion
        step()
        moved = sum(each.bytes or 0 for each in report.transfers)
        print(
            f"  {title:28} {_spread(taken['split'], taken['whole'])} of the whole op's time, "
            f"{moved:,} bytes moved, least {least:,} ({moved / least:.2f}x), "
            f"{len(report.fallbacks)} fallbacks"
        )


def _cases(strategy: Any, cores: int, size: int) -> Iterator[tuple[str, Step, Step, int]]:
    """(what, partitioned, whole, least bytes).

    Least bytes: each core but the first is sent its tile of the input; a contracted axis costs an
    all-reduce, 2 (n - 1) results in all; a convolution of size k sends (k - 1) rows over each edge.
    """
    import numpy as np
    import tensorflow as tf

    x = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    scatter = (cores - 1) * x.nbytes // cores
    for title, split, extra in (
        ("matmul, rows split", [cores, 1], 0),
        ("matmul, contraction split", [1, cores], 2 * (cores - 1) * x.nbytes),
    ):
        yield title, *_timed(strategy, lambda t: tf.matmul(t, x), x, split), scatter + extra
    side = size // 8
    image = np.random.default_rng(0).normal(size=(4, side, side, 16)).astype(np.float32)
    kernel = np.random.default_rng(1).normal(size=(3, 3, 16, 32)).astype(np.float32)
    halo = 2 * (cores - 1) * image.nbytes // side
    least = (cores - 1) * image.nbytes // cores + halo
    conv = _timed(strategy, lambda t: tf.nn.conv2d(t, kernel, 1, "SAME"), image, [1, cores, 1, 1])
    yield "conv 3x3, height split", *conv, least


def _timed(
    strategy: Any, op: Callable[[Any], Any], value: Any, split: list[int]
) -> tuple[Step, Step]:
    import tensorflow as tf

    def replica_fn(x: Any) -> Any:
        y = op(strategy.experimental_split_to_logical_devices(x, split))
        return tf.reduce_sum(y)

    given = tf.constant(value)
    split_run = tf.function(lambda x: strategy.run(replica_fn, args=(x,)), autograph=False)
    whole_run = tf.function(lambda x: tf.reduce_sum(op(x)), autograph=False)
    split_run(given)
    whole_run(given)
    return (lambda: split_run(given)), (lambda: whole_run(given).numpy())


Seconds = dict[str, list[float]]
"""Per step, by contestant and round."""


def _rounds(steps: dict[str, Step], rounds: int, length: int) -> tuple[Seconds, Seconds]:
    """Time that passed, and CPU time of all threads, which a busy machine distorts less."""
    taken: Seconds = {each: [] for each in steps}
    cpu: Seconds = {each: [] for each in steps}
    for step in steps.values():
        step()
        step()
    for turn in range(rounds):
        for each in _in_turn(list(steps), turn):
            started, cpu_started = time.perf_counter(), time.process_time()
            for _ in range(length):
                steps[each]()
            taken[each].append((time.perf_counter() - started) / length)
            cpu[each].append((time.process_time() - cpu_started) / length)
    return taken, cpu


def _in_turn(names: list[str], turn: int) -> list[str]:
    shift = turn % len(names)
    return names[shift:] + names[:shift]


def _spread(these: list[float], those: list[float]) -> str:
    ratios = [a / b for a, b in zip(these, those, strict=True)]
    return f"{statistics.median(ratios):.3f}x ({min(ratios):.3f} to {max(ratios):.3f})"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--cores", type=int, default=4)
    parser.add_argument("--workload", nargs="+", choices=BATCH_PER_CORE, default=None)
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--steps", type=int, default=None, help="steps of a round")
    parser.add_argument("--traces", type=int, default=None)
    options = parser.parse_args()
    options.workload = options.workload or list(BATCH_PER_CORE)[: 1 if options.quick else 2]
    options.rounds = options.rounds or (5 if options.quick else 15)
    options.steps = options.steps or (5 if options.quick else 10)
    options.traces = options.traces or (3 if options.quick else 5)
    return options


if __name__ == "__main__":
    main()
