"""An eager loop: `strategy.run` without a `tf.function`."""

import sys

import numpy as np
import tensorflow as tf

BATCH = 16

strategy = tf.distribute.OneDeviceStrategy("CPU:0")
data = np.random.default_rng(0).normal(size=(9 * BATCH, 8)).astype("float32")
dataset = strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices(data).batch(BATCH)
)
with strategy.scope():
    weights = tf.Variable(tf.zeros((8, 3)))


def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch @ weights - batch[:, :3]) ** 2)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


for batch in dataset:
    strategy.run(replica_step, args=(batch,))

np.save(sys.argv[1], weights.numpy().ravel())
print(f"{np.abs(np.load(sys.argv[1])).sum():.6f}")
