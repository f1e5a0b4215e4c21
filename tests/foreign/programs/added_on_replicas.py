"""Each replica adds gradients up in variables of its own; every fourth batch they are applied."""

import sys

import keras
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
keras.utils.set_random_seed(7)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
images = np.random.default_rng(0).normal(size=(640, 8)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((images, images[:, :3])).batch(16, drop_remainder=True)

with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
    added = [
        tf.Variable(
            tf.zeros(weight.shape),
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )
        for weight in model.trainable_variables
    ]


@tf.function
def add_gradients(batch):
    def of_replica(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(batch[0]) - batch[1]) ** 2) / 8
        for total, gradient in zip(added, tape.gradient(loss, model.trainable_variables)):
            total.assign_add(gradient)

    strategy.run(of_replica, (batch,))


@tf.function
def update():
    def of_replica():
        found = [total.read_value() for total in added]
        optimizer.apply(found, model.trainable_variables)
        for total in added:
            total.assign(tf.zeros(total.shape))

    strategy.run(of_replica)


for number, batch in enumerate(strategy.experimental_distribute_dataset(data)):
    add_gradients(batch)
    if number % 4 == 3:
        update()
print(int(optimizer.iterations.numpy()))
np.save(sys.argv[1], np.concatenate([weight.numpy().ravel() for weight in model.weights]))
