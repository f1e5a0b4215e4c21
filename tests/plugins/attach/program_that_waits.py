"""Trains in the way that each line of its standard input names, and prints its weights.

A step takes at least the seconds of the first argument, so that it can be attached to.
"""

import sys
import time

import keras
import numpy as np
import tensorflow as tf

STEPS = 100
EAGER_STEPS = 30  # TensorFlow waits up to 1 s for the threads of the replicas that a step starts
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
data = np.random.default_rng(0).normal(size=(16 * STEPS, 8)).astype("float32")
with strategy.scope():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), keras.layers.Dense(8)])
    optimizer = keras.optimizers.SGD(0.01)
    model.compile(keras.optimizers.SGD(0.01), "mse")
    optimizer.build(model.trainable_variables)


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, *_, **__):
        time.sleep(pause_s)


def fit():
    model.fit(data, data, batch_size=16, verbose=0, callbacks=[Slow()])


def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(batch, training=True) - batch) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def step(batch):
    return strategy.reduce("MEAN", strategy.run(replica_step, args=(batch,)), axis=None)


def loop(train_step, steps=STEPS):
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(16).take(steps)
    for batch in strategy.experimental_distribute_dataset(dataset):
        train_step(batch)
        time.sleep(pause_s)


pause_s = float(sys.argv[1])
function = tf.function(step)
ways = {"fit": fit, "loop": lambda: loop(function), "eager": lambda: loop(step, EAGER_STEPS)}
for line in sys.stdin:
    ways[line.strip()]()
    print(line.strip(), model.get_weights()[0].tobytes().hex(), flush=True)
