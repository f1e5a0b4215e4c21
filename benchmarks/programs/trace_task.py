"""The program of `benchmarks.trace`: a custom loop under MirroredStrategy, timed by itself.

Prints the time of the first step's end (seconds since the epoch), and of the steps after it, on
average, how long one took and its processor time in this process (ms). It knows nothing of the lab.
`benchmarks.programs.traced_turns` trains the same model by the same step.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

BATCH, WIDTH = 64, 256


def main(seconds: float) -> None:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    data = np.random.default_rng(0).normal(size=(16 * BATCH, WIDTH)).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices(data).repeat().batch(BATCH)
    batches = iter(strategy.experimental_distribute_dataset(dataset))
    train_step = step_of(strategy)
    train_step(next(batches)).numpy()
    first_s, begin, num_steps = time.time(), time.perf_counter(), 0
    used_s = time.process_time()
    while time.perf_counter() - begin < seconds:
        train_step(next(batches)).numpy()
        num_steps += 1
    wall_s, used_s = time.perf_counter() - begin, time.process_time() - used_s
    print(first_s, wall_s * 1e3 / num_steps, used_s * 1e3 / num_steps)


def step_of(strategy: tf.distribute.Strategy) -> Any:
    """The function that trains a new model on a batch of all replicas, and returns the loss."""
    with strategy.scope():
        model, optimizer = new_model(), keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)

    def replica_step(batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(batch, training=True) - batch) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def distributed_step(batch: Any) -> Any:
        return strategy.reduce("MEAN", strategy.run(replica_step, args=(batch,)), axis=None)

    return tf.function(distributed_step)


def new_model() -> Any:
    layers = [keras.layers.Dense(WIDTH, "relu") for _ in range(4)]
    return keras.Sequential([keras.Input((WIDTH,)), *layers])


if __name__ == "__main__":
    main(float(sys.argv[1]))
