"""A critic and a generator train in turns, the critic three times as often; each is a function."""

import sys

import keras
import numpy as np
import tensorflow as tf

HOW = sys.argv[2]
"""`gan`, or `one_by_one`: each function has a warm-up, then many calls without the other."""

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
keras.utils.set_random_seed(7)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
real = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
data = tf.data.Dataset.from_tensor_slices(real).repeat().batch(16)
batches = iter(strategy.experimental_distribute_dataset(data))
with strategy.scope():
    critic, generator = (tf.Variable(tf.ones([8, 2])), tf.Variable(tf.zeros([4, 8])))


def descend(loss, variable):
    with tf.GradientTape() as tape:
        value = loss()
    gradient = tape.gradient(value, variable)
    gradient = tf.distribute.get_replica_context().all_reduce("mean", gradient)
    variable.assign_sub(0.01 * gradient)
    return value


def critic_loss(batch):
    return tf.reduce_mean((batch @ critic) ** 2)


def generator_loss():
    return tf.reduce_mean((tf.ones([2, 4]) @ generator - 1.0) ** 2)


@tf.function
def train_critic(batch):
    return strategy.run(lambda batch: descend(lambda: critic_loss(batch), critic), (batch,))


@tf.function
def train_generator():
    return strategy.run(lambda: descend(generator_loss, generator))


if HOW == "one_by_one":
    for _ in range(2):
        train_critic(next(batches))
    train_generator()
    for _ in range(40):
        train_critic(next(batches))
    for _ in range(40):
        train_generator()
else:
    for _ in range(10):
        for _ in range(3):
            train_critic(next(batches))
        train_generator()
    train_critic(next(batches))
np.save(sys.argv[1], np.concatenate([critic.numpy().ravel(), generator.numpy().ravel()]))
