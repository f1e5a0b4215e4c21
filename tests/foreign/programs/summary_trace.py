"""After the guide on TensorBoard's graphs: the graph and a profile of the first step."""

import glob
import sys

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.config_pb2 import RunMetadata

tf.random.set_seed(7)
weights = tf.Variable(tf.zeros((8, 3)))
data = np.random.default_rng(0).normal(size=(8, 16, 8)).astype("float32")
writer = tf.summary.create_file_writer("logs")


@tf.function
def train_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((batch @ weights - batch[:, :3]) ** 2)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    return loss


@tf.function
def validate(batch):
    return tf.reduce_mean((batch @ weights - batch[:, :3]) ** 2)


for step, batch in enumerate(data):
    if step == 0:
        tf.summary.trace_on(graph=True, profiler=True, profiler_outdir="logs")
    train_step(tf.constant(batch))
    if step == 1:
        with writer.as_default():
            tf.summary.trace_export(name="train_step", step=0)
        tf.summary.trace_on(graph=True)
    if step == 2:
        validate(tf.constant(batch))
        with writer.as_default():
            tf.summary.trace_export(name="validate", step=2)
writer.close()

for event in tf.compat.v1.train.summary_iterator(glob.glob("logs/events*")[0]):
    for value in event.summary.value:
        graphs = RunMetadata.FromString(value.tensor.string_val[0]).function_graphs
        names = {node.op for each in graphs for node in each.post_optimization_graph.node}
        print(value.tag, "MatMul" in names, "AssignSubVariableOp" in names)
print(len(glob.glob("logs/plugins/profile/*/*.xplane.pb")), "profile")
np.save(sys.argv[1], weights.numpy().ravel())
