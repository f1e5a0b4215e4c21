"""Starts the two workers of a MultiWorkerMirroredStrategy as its children, each with TF_CONFIG."""

import json
import multiprocessing
import os
import socket
import sys

import keras
import numpy as np
import tensorflow as tf


def free_ports(count):
    sockets = [socket.create_server(("localhost", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def train(index, addresses, path):
    os.environ["TF_CONFIG"] = json.dumps(
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    )
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(7)
    data = np.random.default_rng(0).normal(size=(96, 8)).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(16)
    with strategy.scope():
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
        optimizer = keras.optimizers.SGD(0.1)
        optimizer.build(model.trainable_variables)

    def replica_step(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(batch, training=True) - batch[:, :3]) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function
    def train_step(batch):
        return strategy.run(replica_step, args=(batch,))

    for batch in strategy.experimental_distribute_dataset(dataset):
        train_step(batch)
    if index == 0:
        np.save(path, np.concatenate([weight.ravel() for weight in model.get_weights()]))


if __name__ == "__main__":
    addresses = [f"localhost:{port}" for port in free_ports(2)]
    context = multiprocessing.get_context("fork")
    workers = [
        context.Process(target=train, args=(index, addresses, sys.argv[1])) for index in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print([worker.exitcode for worker in workers])
