"""ParameterServerStrategy with a Keras model, epochs, and a dataset for each worker."""

import os
import socket
import sys

os.environ["GRPC_FAIL_FAST"] = "use_caller"

import keras
import numpy as np
import tensorflow as tf

STEPS_PER_EPOCH = 4
BATCH = 16

keras.utils.set_random_seed(7)
sockets = [socket.create_server(("localhost", 0)) for _ in range(2)]
worker, server = (f"localhost:{each.getsockname()[1]}" for each in sockets)
for each in sockets:
    each.close()
spec = tf.train.ClusterSpec({"worker": [worker], "ps": [server]})
for job in ("worker", "ps"):
    tf.distribute.Server(spec, job_name=job, task_index=0, protocol="grpc")
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(spec, rpc_layer="grpc")
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

with strategy.scope():
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)


def dataset_fn():
    data = np.random.default_rng(0).normal(size=(8 * BATCH, 8)).astype("float32")
    return tf.data.Dataset.from_tensor_slices(data).repeat().batch(BATCH)


@tf.function
def step_fn(iterator):
    def replica_fn(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(batch, training=True) - batch[:, :3]) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return strategy.run(replica_fn, args=(next(iterator),))


iterator = iter(
    coordinator.create_per_worker_dataset(
        tf.function(lambda: strategy.distribute_datasets_from_function(lambda _: dataset_fn()))
    )
)
for epoch in range(3):
    for _ in range(STEPS_PER_EPOCH):
        loss = coordinator.schedule(step_fn, args=(iterator,))
    coordinator.join()
    print(epoch, f"{float(loss.fetch()):.6f}")
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
