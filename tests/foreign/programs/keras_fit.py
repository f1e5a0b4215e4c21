"""Keras's `fit` under MirroredStrategy, with validation; Keras is used as `tf.keras` alone."""

import sys

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(7)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

rng = np.random.default_rng(0)
images = rng.normal(size=(88, 8)).astype("float32")
labels = rng.integers(0, 3, 88)

with strategy.scope():
    model = tf.keras.Sequential(
        [tf.keras.Input((8,)), tf.keras.layers.Dense(4, "relu"), tf.keras.layers.Dense(3)]
    )
    model.compile(
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=tf.keras.optimizers.Adam(0.01),
        metrics=["accuracy"],
    )

history = model.fit(
    images, labels, batch_size=16, epochs=2, validation_data=(images, labels), verbose=0
)
print({name: [f"{value:.6f}" for value in values] for name, values in history.history.items()})
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
