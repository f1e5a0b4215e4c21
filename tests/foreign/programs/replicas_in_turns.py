"""`strategy.run` outside of a `tf.function`, with a function that is defined again in each step.

Only what computes the gradients is a `tf.function`.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
data = np.random.default_rng(0).normal(size=(160, 8)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(data).batch(16)

with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)


@tf.function
def gradients(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(batch, training=True) - batch[:, :3]) ** 2)
    return loss, tape.gradient(loss, model.trainable_variables)


def train_step(batch):
    def replica_step(batch):
        loss, found = gradients(batch)
        optimizer.apply_gradients(zip(found, model.trainable_variables))
        return loss

    return strategy.reduce("MEAN", strategy.run(replica_step, args=(batch,)), axis=None)


for batch in strategy.experimental_distribute_dataset(dataset):
    loss = train_step(batch)
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
print(f"{float(loss):.6f}")
