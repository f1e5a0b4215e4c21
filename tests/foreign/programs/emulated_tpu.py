"""The guide on TPUs with the lab's emulation in the lines of the set-up."""

import sys

import numpy as np
import tensorflow as tf

from strategy_core import tpu

tpu.configure_virtual_cores(2)
resolver = tpu.TPUClusterResolver(tpu="", topology_shape=(1, 1, 1, 2))
tpu.connect_to_cluster(resolver)
tpu.initialize_tpu_system(resolver)
strategy = tpu.TPUStrategy(resolver)

with strategy.scope():
    weights = tf.Variable(tf.zeros((8, 3)))


@tf.function
def train_step(batch):
    def replica_step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((batch @ weights - batch[:, :3]) ** 2)
        gradient = tf.distribute.get_replica_context().all_reduce(
            "mean", tape.gradient(loss, weights)
        )
        weights.assign_sub(0.1 * gradient)

    strategy.run(replica_step, args=(batch,))


data = np.random.default_rng(0).normal(size=(160, 8)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(data).batch(16, drop_remainder=True)
for batch in strategy.experimental_distribute_dataset(dataset):
    train_step(batch)
np.save(sys.argv[1], weights.numpy().ravel())
print(f"{np.abs(np.load(sys.argv[1])).sum():.6f}")
