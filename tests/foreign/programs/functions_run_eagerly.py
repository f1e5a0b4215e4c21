"""A `tf.function` that runs op by op, as people debug it, on batches of NumPy."""

import sys

import numpy as np
import tensorflow as tf

tf.config.run_functions_eagerly(True)
weights = tf.Variable(tf.zeros((8, 1)))
data = np.random.default_rng(0).normal(size=(10, 16, 8)).astype("float32")


@tf.function
def train_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch @ weights - 1.0) ** 2)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for batch in data:
    loss = train_step(tf.constant(batch))
print(f"{float(loss):.6f}")
np.save(sys.argv[1], weights.numpy().ravel())
