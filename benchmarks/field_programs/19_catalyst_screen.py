"""Catalyst screening: many little property heads on one trunk, two worker processes."""
import json
import os
import socket
import subprocess
import sys
import time

PROPERTIES = 48
DESCRIPTORS = 40
BATCH = 64
STEPS = 110


class Launcher:
    def __init__(self, workers):
        self.ports = []
        taken = []
        for _ in range(workers):
            s = socket.socket()
            s.bind(("localhost", 0))
            taken.append(s)
            self.ports.append(s.getsockname()[1])
        for s in taken:
            s.close()

    def go(self):
        cluster = {"worker": ["localhost:%d" % p for p in self.ports]}
        running = []
        for i in range(len(self.ports)):
            config = {"cluster": cluster, "task": {"type": "worker", "index": i}}
            env = dict(os.environ, TF_CONFIG=json.dumps(config))
            running.append(subprocess.Popen([sys.executable, os.path.abspath(__file__)], env=env))
        code = running[0].wait()
        for r in running[1:]:
            try:
                r.wait(timeout=5)
            except subprocess.TimeoutExpired:
                r.kill()
                r.wait()
        return code


def screen(np, index, n=4096):
    rng = np.random.default_rng(40 + index)
    x = rng.standard_normal((n, DESCRIPTORS)).astype("float32")
    mix = np.random.default_rng(1).standard_normal((DESCRIPTORS, PROPERTIES)).astype("float32")
    return x, np.tanh(x @ mix * 0.3)


def build(keras):
    inp = keras.Input((DESCRIPTORS,))
    trunk = keras.layers.Dense(48, activation="relu")(inp)
    outs = []
    for k in range(PROPERTIES):
        h = keras.layers.Dense(8, activation="relu", name="p%d_hidden" % k)(trunk)
        outs.append(keras.layers.Dense(1, name="p%d_out" % k)(h))
    return keras.Model(inp, keras.layers.Concatenate()(outs))


def sum_over_workers(tf, grads):
    context = tf.distribute.get_replica_context()
    return [context.all_reduce(tf.distribute.ReduceOp.SUM, g) for g in grads]


def work():
    import numpy as np
    import tensorflow as tf
    import keras
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(24)
    index = strategy.cluster_resolver.task_id
    table = screen(np, index)

    def make(ctx):
        ds = tf.data.Dataset.from_tensor_slices(table).shuffle(4096, seed=1).repeat()
        return ds.batch(BATCH).prefetch(4)

    batches = iter(strategy.distribute_datasets_from_function(make))
    with strategy.scope():
        model = build(keras)
    rate = 0.05

    def replica_step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y)) / 2
        grads = tape.gradient(loss, model.trainable_variables)
        grads = sum_over_workers(tf, grads)
        for variable, grad in zip(model.trainable_variables, grads):
            variable.assign(variable - rate * grad)
        return loss

    @tf.function
    def train_step(iterator):
        return strategy.run(replica_step, args=next(iterator))

    train_step(batches)
    t0 = time.perf_counter()
    for step in range(1, STEPS + 1):
        loss = train_step(batches)
        if index == 0 and step % 40 == 0:
            print("step %d loss %.4f" % (step, float(loss)))
    if index == 0:
        print("loop %.2f s" % (time.perf_counter() - t0))
        sys.stdout.flush()
        time.sleep(3)  # let the other process leave first


if __name__ == "__main__":
    if "TF_CONFIG" in os.environ:
        work()
    else:
        sys.exit(Launcher(2).go())
