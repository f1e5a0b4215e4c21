# source: horovod/horovod#1514, horovod/horovod#15 (many small allreduce operations), tensorflow#33809
import numpy as np
import tensorflow as tf

REPLICAS, COLUMNS, BATCH = 4, 48, 128
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * REPLICAS)
tf.keras.utils.set_random_seed(12)
strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(REPLICAS)])

rng = np.random.default_rng(12)
table = rng.normal(3.0, 2.0, size=(BATCH * 8, COLUMNS)).astype("float32")
goal = (table[:, :1] - table[:, 1:2]).astype("float32")
data = tf.data.Dataset.from_tensor_slices((table, goal)).cache().repeat().batch(BATCH).prefetch(2)
feed = iter(strategy.experimental_distribute_dataset(data))

with strategy.scope():
    kernel = tf.Variable(tf.zeros((COLUMNS, 1)))
    bias = tf.Variable(tf.zeros((1,)))


def synced_mean(value):
    total = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, value)
    return total / REPLICAS


def step_fn(x, y):
    columns = tf.unstack(x, axis=1)
    centred = [c - synced_mean(tf.reduce_mean(c)) for c in columns]
    x = tf.stack(centred, axis=1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(x @ kernel + bias - y)) / BATCH
    grads = tape.gradient(loss, [kernel, bias])
    kernel.assign_sub(0.02 * synced_mean(grads[0]))
    bias.assign_sub(0.02 * synced_mean(grads[1]))
    return loss


@tf.function
def train(iterator, count):
    loss = tf.constant(0.0)
    for _ in tf.range(count):
        x, y = next(iterator)
        loss = strategy.reduce("SUM", strategy.run(step_fn, args=(x, y)), axis=None)
    return loss


for block in range(40):
    loss = train(feed, tf.constant(25))
    if block % 10 == 9:
        print("block", block, "loss", float(loss))
print("RESULT %.6f" % float(loss))
