"""One worker of a MultiWorkerMirroredStrategy, which its terminal starts with TF_CONFIG."""

import sys

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    weights = tf.Variable(tf.ones((8, 3)))
dataset = tf.data.Dataset.from_tensors(tf.ones((16, 8))).repeat(int(sys.argv[1]))


def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch @ weights) ** 2)
    gradient = tape.gradient(loss, weights)
    total = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, gradient)
    weights.assign_sub(0.1 * total)
    return loss


@tf.function
def train_step(batch):
    return strategy.run(replica_step, args=(batch,))


for batch in strategy.experimental_distribute_dataset(dataset):
    train_step(batch)
