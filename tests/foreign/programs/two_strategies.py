"""Two strategies in one process, one after the other, as a program that compares them does."""

import sys

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
images = np.random.default_rng(0).normal(size=(96, 8)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(images).batch(16)


def train(strategy, epochs):
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
        optimizer = keras.optimizers.SGD(0.01)
        optimizer.build(model.trainable_variables)

    def replica_step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(batch, training=True) - batch[:, :3]) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function
    def train_step(batch):
        losses = strategy.run(replica_step, args=(batch,))
        return strategy.reduce("MEAN", losses, axis=None)

    for _ in range(epochs):
        for batch in strategy.experimental_distribute_dataset(dataset):
            loss = train_step(batch)
    print(type(strategy).__name__, f"{float(loss):.6f}")
    return model


models = [
    train(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), 2),
    train(tf.distribute.OneDeviceStrategy("CPU:1"), 1),
]
weights = [weight.ravel() for model in models for weight in model.get_weights()]
np.save(sys.argv[1], np.concatenate(weights))
