"""A custom loop that passes a Python number, its learning rate, to a `tf.function`."""

import sys

import numpy as np
import tensorflow as tf

weights = tf.Variable(tf.zeros((8, 3)))
data = np.random.default_rng(0).normal(size=(160, 8)).astype("float32")


@tf.function
def train_step(batch, learning_rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch @ weights - batch[:, :3]) ** 2)
    weights.assign_sub(learning_rate * tape.gradient(loss, weights))
    return loss


learning_rate = 0.1
for batch in tf.data.Dataset.from_tensor_slices(data).batch(16):
    loss = train_step(batch, learning_rate)
    learning_rate *= 0.95
print(f"{float(loss):.6f}")
np.save(sys.argv[1], weights.numpy().ravel())
