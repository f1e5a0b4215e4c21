"""CentralStorageStrategy in a custom loop: the variables are on one device, the replicas on two."""

import sys

import keras
import numpy as np
import tensorflow as tf

GLOBAL_BATCH_SIZE = 16

keras.utils.set_random_seed(7)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
strategy = tf.distribute.experimental.CentralStorageStrategy(["CPU:1", "CPU:2"], "CPU:0")

images = np.random.default_rng(0).normal(size=(5 * GLOBAL_BATCH_SIZE, 8)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(images).batch(GLOBAL_BATCH_SIZE)
dist_dataset = strategy.experimental_distribute_dataset(dataset)

with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)


def replica_step(batch):
    with tf.GradientTape() as tape:
        errors = tf.reduce_mean((model(batch, training=True) - batch[:, :3]) ** 2, axis=-1)
        loss = tf.nn.compute_average_loss(errors, global_batch_size=GLOBAL_BATCH_SIZE)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


@tf.function
def train_step(batch):
    return strategy.reduce("SUM", strategy.run(replica_step, args=(batch,)), axis=None)


for epoch in range(2):
    for batch in dist_dataset:
        loss = train_step(batch)
    print(epoch, f"{float(loss):.6f}")
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
