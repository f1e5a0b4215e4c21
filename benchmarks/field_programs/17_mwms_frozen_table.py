"""Two workers fine-tune a small head over a frozen body (MultiWorkerMirroredStrategy)."""
import json
import os
import socket
import subprocess
import sys

import numpy as np
import tensorflow as tf

DIM = 48
BATCH = 32
STEPS = 180


class Tagger(tf.keras.Model):
    """Adapter and body come from an earlier run and stay as they are."""

    def __init__(self):
        super().__init__()
        self.adapter = tf.keras.layers.Dense(512, activation="relu")
        self.body = tf.keras.layers.Dense(2048, activation="relu")
        self.low = tf.keras.layers.Dense(512, activation="relu")
        self.head = tf.keras.layers.Dense(4)

    def call(self, x, training=False):
        return self.head(self.low(self.body(self.adapter(x))))


def data(index):
    rng = np.random.default_rng(40 + index)
    x = rng.normal(size=(4096, DIM)).astype(np.float32)
    y = (x[:, :4].argmax(1)).astype(np.int32)
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(4096, seed=1).repeat()
    return ds.batch(BATCH, drop_remainder=True).prefetch(2)


def worker():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    index = strategy.cluster_resolver.task_id
    with strategy.scope():
        model = Tagger()
        model(tf.zeros((2, DIM)))
        rate = tf.constant(0.05)

    def replica_step(x, y):
        context = tf.distribute.get_replica_context()
        watched = model.trainable_variables
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            loss = tf.reduce_sum(ce) / (2 * BATCH)
        grads = context.all_reduce("SUM", tape.gradient(loss, watched))
        tuned = {v.name + v.path: g for v, g in zip(watched, grads)}
        for v in model.head.trainable_variables:
            v.assign_sub(rate * tuned[v.name + v.path])
        return loss

    @tf.function
    def step(x, y):
        per_replica = strategy.run(replica_step, args=(x, y))
        return strategy.reduce("SUM", per_replica, axis=None)

    feed = iter(strategy.distribute_datasets_from_function(lambda ctx: data(index)))
    for n in range(STEPS):
        loss = step(*next(feed))
        if index == 0 and n % 40 == 0:
            print("step", n, "loss", round(float(loss), 4), flush=True)
    print("worker", index, "done", flush=True)


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


def launch():
    hosts = [f"127.0.0.1:{p}" for p in free_ports(2)]
    children = []
    for index in range(2):
        env = dict(os.environ)
        env["TF_CONFIG"] = json.dumps({"cluster": {"worker": hosts},
                                       "task": {"type": "worker", "index": index}})
        children.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), "worker"], env=env))
    codes = [c.wait() for c in children]
    sys.exit(max(abs(c) for c in codes))


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        worker()
    else:
        launch()
