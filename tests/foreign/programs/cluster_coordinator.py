"""ParameterServerStrategy with a ClusterCoordinator and in-process servers, after its guide."""

import os
import socket
import sys

os.environ["GRPC_FAIL_FAST"] = "use_caller"

import numpy as np
import tensorflow as tf


def create_in_process_cluster(num_workers, num_ps):
    sockets = [socket.create_server(("localhost", 0)) for _ in range(num_workers + num_ps)]
    addresses = [f"localhost:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    cluster = {"worker": addresses[:num_workers], "ps": addresses[num_workers:]}
    spec = tf.train.ClusterSpec(cluster)
    for job, count in (("worker", num_workers), ("ps", num_ps)):
        for index in range(count):
            tf.distribute.Server(spec, job_name=job, task_index=index, protocol="grpc")
    return tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")


strategy = tf.distribute.ParameterServerStrategy(create_in_process_cluster(2, 1))
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    kernel = tf.Variable(tf.zeros((8, 3)))


@tf.function
def step_fn(batch):
    def replica_fn(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((batch @ kernel - batch[:, :3]) ** 2)
        kernel.assign_sub(0.1 * tape.gradient(loss, kernel))
        return loss

    return strategy.run(replica_fn, args=(batch,))


batches = np.random.default_rng(0).normal(size=(9, 16, 8)).astype("float32")
for batch in batches[:4]:
    loss = coordinator.schedule(step_fn, args=(tf.constant(batch),))
    coordinator.join()
for batch in batches[4:]:
    loss = coordinator.schedule(step_fn, args=(tf.constant(batch),))
    loss.fetch()
coordinator.join()
print(f"{float(loss.fetch()):.6f}")
np.save(sys.argv[1], kernel.numpy().ravel())
