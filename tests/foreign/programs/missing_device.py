"""A strategy over two CPU devices in a process that has one: TensorFlow waits without end."""

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(3)])
    model.compile("sgd", "mse")
model.fit(np.ones((32, 8)), np.ones((32, 3)), batch_size=16, verbose=0)
