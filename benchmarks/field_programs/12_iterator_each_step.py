# source: tensorflow#14868 (an iterator made again and again) and skhu101/GM-NAS#4 (next(iter(queue)) for every batch)
import numpy as np
import tensorflow as tf

REPLICAS = 3
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * REPLICAS)
tf.random.set_seed(5)
strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(REPLICAS)])

BATCH = 96
rng = np.random.default_rng(0)
features = rng.normal(size=(6000, 40)).astype("float32")
target = features @ rng.normal(size=(40, 1)).astype("float32")

dataset = tf.data.Dataset.from_tensor_slices((features, target))
dataset = dataset.repeat().shuffle(2000, seed=1).batch(BATCH)
distributed = strategy.experimental_distribute_dataset(dataset)

with strategy.scope():
    w1 = tf.Variable(tf.random.normal((40, 128), stddev=0.1, seed=2))
    w2 = tf.Variable(tf.random.normal((128, 1), stddev=0.1, seed=3))


def replica_step(x, y):
    with tf.GradientTape() as tape:
        guess = tf.nn.relu(x @ w1) @ w2
        loss = tf.reduce_sum((guess - y) ** 2) / BATCH
    grads = tape.gradient(loss, [w1, w2])
    grads = tf.distribute.get_replica_context().all_reduce("sum", grads)
    for w, g in zip([w1, w2], grads):
        w.assign_sub(0.003 * g)
    return loss


@tf.function
def train(x, y):
    losses = strategy.run(replica_step, args=(x, y))
    return strategy.reduce("sum", losses, axis=None)


def main():
    for step in range(110):
        x, y = next(iter(distributed))
        loss = train(x, y)
        if step % 50 == 0:
            print("step", step, "loss", float(loss))
    return float(loss)


print("RESULT %.6f" % main())
