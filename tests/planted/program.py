"""Programs of others with one cause of slowness planted in each: `python -m tests.planted.program`.

    python -m tests.planted.program KIND RUN

Each is an ordinary `tf.distribute` program on two virtual CPU devices, recorded by `lab.record` or
`lab.RecorderCallback`. What is planted is marked with `planted`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import strategy_core as lab
from strategy_lab.profiles.spec.run_spec import Capture

STEPS = 24
BATCH = 32
FEATURES = 64
GENERATOR_S = 0.05
CAPTURE = Capture(every_step=True)
"""A short run: its one early window would be over before a full buffer is empty."""


def strategy() -> tf.distribute.Strategy:
    (cpu,) = tf.config.list_physical_devices("CPU")
    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpu, two)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def in_memory() -> tf.data.Dataset:
    features = np.random.default_rng(0).normal(size=(BATCH * 8, FEATURES)).astype("f")
    data = tf.data.Dataset.from_tensor_slices((features, features[:, :1]))
    return data.repeat().batch(BATCH, drop_remainder=True).prefetch(8)


def slow_generator() -> tf.data.Dataset:
    def batches() -> Iterator[Any]:
        features = np.random.default_rng(0).normal(size=(BATCH, FEATURES)).astype("f")
        while True:
            time.sleep(GENERATOR_S)  # planted
            yield features, features[:, :1]

    shapes = (tf.TensorSpec((BATCH, FEATURES)), tf.TensorSpec((BATCH, 1)))
    return tf.data.Dataset.from_generator(batches, output_signature=shapes)


def fit(run: str, data_of: Callable[[], tf.data.Dataset]) -> None:
    mirrored = strategy()  # before TensorFlow's runtime starts, which data would do
    with mirrored.scope():
        model = keras.Sequential([keras.Input((FEATURES,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    recorder = lab.RecorderCallback(run, capture=CAPTURE, global_batch_size=BATCH)
    model.fit(data_of(), steps_per_epoch=STEPS, epochs=1, verbose=0, callbacks=[recorder])


def loop(
    run: str,
    *,
    scale_of: Callable[[int], Any] = lambda _step: 1.0,
    after: Callable[[Any], Any] = lambda loss: loss,
    in_replica: Callable[[tf.Tensor], tf.Tensor] = lambda features: features,
) -> None:
    """A custom loop; each argument is where one program differs from the healthy one."""
    mirrored = strategy()
    with mirrored.scope():
        weights = tf.Variable(tf.zeros((FEATURES, 1)))

    def replica_step(features: tf.Tensor, labels: tf.Tensor, scale: Any) -> tf.Tensor:
        features = in_replica(features)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((features @ weights - labels) ** 2) * scale
        gradient = tape.gradient(loss, weights)
        replica = tf.distribute.get_replica_context()
        weights.assign_sub(1e-3 * replica.all_reduce("sum", gradient))
        return loss

    @tf.function
    def train_step(batch: Any, scale: Any) -> tf.Tensor:
        losses = mirrored.run(replica_step, args=(*batch, scale))
        return mirrored.reduce("mean", losses, axis=None)

    batches = mirrored.experimental_distribute_dataset(in_memory())
    with lab.record(run, mirrored, capture=CAPTURE, global_batch_size=BATCH) as recorder:
        for number, batch in zip(range(STEPS), recorder.dataset(batches), strict=False):
            with recorder.step() as step:
                loss = train_step(batch, scale_of(number))
                step.result(loss=after(loss))


def host_work(loss: tf.Tensor) -> float:
    value = float(loss.numpy())
    for number in range(200_000):
        value += number * 1e-12  # planted
    return value


def pinned(features: tf.Tensor) -> tf.Tensor:
    """The first replica's own work on the other replica's device."""
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    if tf.get_static_value(tf.convert_to_tensor(replica)) == 0:
        features = tf.ensure_shape(features, (BATCH // 2, FEATURES))
        with tf.device("CPU:1"):  # planted
            large = tf.tile(features, [64, 8])
            for _ in range(2):
                large = tf.matmul(large, tf.matmul(large, large, transpose_a=True)) * 1e-6
            features = features + large[: BATCH // 2, :FEATURES] * 1e-9
    return features


def computing(features: tf.Tensor) -> tf.Tensor:
    """Enough work for a step that nothing but the replicas limits."""
    large = tf.tile(features, [64, 8])
    for _ in range(2):
        large = tf.matmul(large, tf.matmul(large, large, transpose_a=True)) * 1e-6
    return features + large[: tf.shape(features)[0], :FEATURES] * 1e-9


PROGRAMS: dict[str, Callable[[str], None]] = {
    "healthy": lambda run: loop(run, in_replica=computing),
    "retracing": lambda run: loop(run, scale_of=lambda step: 1.0 + step / 1000),
    "host-round-trip": lambda run: loop(run, after=host_work),
    "pinned-op": lambda run: loop(run, in_replica=pinned),
    "generator": lambda run: fit(run, slow_generator),
    "generator-prefetched": lambda run: fit(run, lambda: slow_generator().prefetch(4)),
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](sys.argv[2])
