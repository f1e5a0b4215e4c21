"""Gradients are added up, and applied by the program itself without an optimizer.

The second argument says where: `function`, `python`, or `never`.
"""

import sys

import numpy as np
import tensorflow as tf

where = sys.argv[2]
batches = 70 if where == "never" else 12
data = np.random.default_rng(0).normal(size=(batches * 16, 8)).astype("float32")
weights = tf.Variable(tf.zeros((8, 3)))
added = tf.Variable(tf.zeros((8, 3)))


@tf.function
def add_gradients(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch @ weights - batch[:, :3]) ** 2)
    added.assign_add(tape.gradient(loss, weights))
    return loss


def update():
    weights.assign_sub(0.1 * added)
    added.assign(tf.zeros_like(added))


@tf.function
def validate(batch):
    return tf.reduce_mean((batch @ weights - batch[:, :3]) ** 2)


update_in_function = tf.function(update)
for number, batch in enumerate(tf.data.Dataset.from_tensor_slices(data).batch(16)):
    add_gradients(batch)
    validate(batch)
    if number % 3 == 2 and where == "function":
        update_in_function()
    if number % 3 == 2 and where == "python":
        update()
np.save(sys.argv[1], weights.numpy().ravel())
