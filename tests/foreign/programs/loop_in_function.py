"""Several steps in one call: the loop over them is inside the `tf.function`."""

import sys

import keras
import numpy as np
import tensorflow as tf

STEPS_PER_CALL = 5

keras.utils.set_random_seed(7)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
data = np.random.default_rng(0).normal(size=(160, 8)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(data).repeat().batch(16)
iterator = iter(strategy.experimental_distribute_dataset(dataset))

with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    optimizer = keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)


def replica_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(batch, training=True) - batch[:, :3]) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


@tf.function
def train_steps(iterator):
    for _ in tf.range(STEPS_PER_CALL):
        strategy.run(replica_step, args=(next(iterator),))


for _ in range(4):
    train_steps(iterator)

np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
print(f"{np.abs(np.load(sys.argv[1])).sum():.6f}")
