"""A custom loop on one device that profiles some of its steps by itself."""

import glob
import sys

import numpy as np
import tensorflow as tf

tf.random.set_seed(7)
weights = tf.Variable(tf.zeros((8, 3)))
data = np.random.default_rng(0).normal(size=(12, 16, 8)).astype("float32")
strategy = tf.distribute.OneDeviceStrategy("CPU:0")


def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch @ weights - batch[:, :3]) ** 2)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


@tf.function
def train_step(batch):
    return strategy.run(replica_step, args=(batch,))


for step, batch in enumerate(data):
    if step == 4:
        tf.profiler.experimental.start("logs")
    train_step(tf.constant(batch))
    if step == 7:
        tf.profiler.experimental.stop()

print(len(glob.glob("logs/plugins/profile/*/*.xplane.pb")), "profile")
np.save(sys.argv[1], weights.numpy().ravel())
