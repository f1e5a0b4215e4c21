"""One function computes the gradients, and another applies them."""

import sys

import keras
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
keras.utils.set_random_seed(7)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
images = np.random.default_rng(0).normal(size=(192, 8)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((images, images[:, :3])).batch(16, drop_remainder=True)

with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)


@tf.function
def gradients(batch):
    def of_replica(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(batch[0]) - batch[1]) ** 2) / 2
        return tape.gradient(loss, model.trainable_variables)

    return strategy.run(of_replica, (batch,))


@tf.function
def update(found):
    def of_replica(*found):
        optimizer.apply(found, model.trainable_variables)

    strategy.run(of_replica, args=tuple(found))


for batch in strategy.experimental_distribute_dataset(data):
    update(gradients(batch))
print(int(optimizer.iterations.numpy()))
np.save(sys.argv[1], np.concatenate([weight.numpy().ravel() for weight in model.weights]))
