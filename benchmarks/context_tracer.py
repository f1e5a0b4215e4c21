"""What the context tracer costs: tracing of the digits-cnn step with it, without it, and after it.

    python -m benchmarks.context_tracer [--quick]

Each round builds the step's tf.function again and times its first call; the three sides take turns.
Bounds: on, 1.10x the bare tracing time; off again, no measurable difference.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.measuring.paired import Ratio
from benchmarks.measuring.record import record_ratio

REPLICAS = 2
BATCH = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few rounds, for the tests")
    rounds = 3 if parser.parse_args().quick else 15
    first_call = prepare()
    from strategy_core import trace_contexts

    sides: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
        "bare": contextlib.nullcontext,
        "tracer on": trace_contexts,
        "tracer off again": contextlib.nullcontext,
    }
    times: dict[str, list[float]] = {name: [] for name in sides}
    first_call()  # the first of all pays for what is made once
    for _ in range(rounds):
        for name, around in sides.items():
            with around():
                times[name].append(first_call())
    for name, seconds in times.items():
        ratios = [own / bare for own, bare in zip(seconds, times["bare"], strict=True)]
        low, _, high = statistics.quantiles(ratios, n=4)
        ratio = Ratio(statistics.median(ratios), low, high)
        record_ratio(f"{name}, quartiles", ratio, len(ratios))
        print(
            f"{name:18} {statistics.median(seconds) * 1000:8.1f} ms   "
            f"{statistics.median(ratios):.3f}x bare (quartiles {low:.3f} to {high:.3f})"
        )


def prepare() -> Callable[[], float]:
    """A call that traces the training step of digits-cnn again and returns its seconds."""
    import tensorflow as tf

    from strategy_core.training import workload

    cpu = tf.config.list_physical_devices("CPU")[0]
    devices = [tf.config.LogicalDeviceConfiguration()] * REPLICAS
    tf.config.set_logical_device_configuration(cpu, devices)
    strategy = tf.distribute.MirroredStrategy(
        [f"CPU:{index}" for index in range(REPLICAS)],
        cross_device_ops=tf.distribute.ReductionToOneDevice(),
    )
    work = workload.load("digits-cnn", {})
    with strategy.scope():
        model, optimizer = work.build_model(), work.build_optimizer()
        optimizer.build(model.trainable_variables)
    data = work.build_dataset(BATCH * REPLICAS, 0)
    batch = next(iter(strategy.experimental_distribute_dataset(data)))

    def step(batch: Any) -> Any:
        images, labels = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(work.loss_fn(labels, model(images, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def first_call() -> float:
        program = tf.function(lambda batch: strategy.run(step, args=(batch,)))
        begun = time.perf_counter()
        program.get_concrete_function(batch)
        return time.perf_counter() - begun

    return first_call


if __name__ == "__main__":
    main()
