"""Keras's `compile(jit_compile=True)` under MirroredStrategy: XLA refuses its step."""

import sys

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
images = np.random.default_rng(0).normal(size=(96, 8)).astype("float32")

with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    model.compile(loss="mse", optimizer="sgd", jit_compile=True)
model.fit(images, images[:, :3], batch_size=16, epochs=1, verbose=0)
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
