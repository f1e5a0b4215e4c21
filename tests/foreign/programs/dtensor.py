"""Data-parallel training on a mesh of two devices, without a strategy."""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.experimental import dtensor

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
mesh = dtensor.create_mesh([("batch", 2)], devices=["CPU:0", "CPU:1"])
replicated = dtensor.Layout.replicated(mesh, rank=2)
by_batch = dtensor.Layout.batch_sharded(mesh, "batch", rank=2)


def on_mesh(tensor):
    return dtensor.copy_to_mesh(tensor, replicated)


inner = dtensor.DVariable(on_mesh(tf.random.stateless_normal([32, 64], [1, 2])))
outer = dtensor.DVariable(on_mesh(tf.random.stateless_normal([64, 1], [3, 4])))
data = dtensor.relayout(on_mesh(tf.random.stateless_uniform([64, 32], [5, 6])), by_batch)
labels = dtensor.relayout(on_mesh(tf.random.stateless_uniform([64, 1], [7, 8])), by_batch)


@tf.function
def train_step(data, labels):
    with tf.GradientTape() as tape:
        found = tf.matmul(tf.nn.relu(tf.matmul(data, inner)), outer)
        loss = tf.reduce_mean(tf.square(found - labels))
    of_inner, of_outer = tape.gradient(loss, [inner, outer])
    inner.assign_sub(0.001 * of_inner)
    outer.assign_sub(0.001 * of_outer)
    return loss


for _ in range(400):
    loss = train_step(data, labels)
np.save(sys.argv[1], outer.numpy().ravel())
print(f"{float(loss):.6f}")
