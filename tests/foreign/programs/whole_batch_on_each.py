"""Keras's `train_on_batch` under MirroredStrategy, which does not divide the batch."""

import sys

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
images = np.random.default_rng(0).normal(size=(10, 16, 8)).astype("float32")
seen = set()


class Look(keras.layers.Layer):
    def call(self, x):
        tf.py_function(lambda n: seen.add(int(n)), [tf.shape(x)[0]], [])
        return x


with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = keras.Sequential([keras.Input((8,)), Look(), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
for batch in images:
    loss = model.train_on_batch(batch, batch[:, :3])
print(sorted(seen), f"{float(np.ravel(loss)[0]):.6f}")
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
