"""Keras fit's own path through these calls.

fit distributes the dataset, traces one tf.function around strategy.run, and reduces what the
replicas return; the optimizer all-reduces the gradients inside.
"""

import numpy as np
import tensorflow as tf


def demonstrate(strategy):
    with strategy.scope():
        layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
        model = tf.keras.Sequential([tf.keras.layers.Input([2]), layer])
        model.compile(tf.keras.optimizers.SGD(0.1), loss="mse", jit_compile=False)
    size = 4 * strategy.num_replicas_in_sync
    x = np.ones([size, 2], np.float32)
    y = np.zeros([size, 1], np.float32)
    history = model.fit(x, y, batch_size=size, epochs=2, verbose=0, shuffle=False)
    losses = history.history["loss"]
    print("epochs:", len(losses))
    print("the loss fell:", losses[1] < losses[0])
