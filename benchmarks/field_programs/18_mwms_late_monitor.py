"""Two workers; the last one also watches for drift of its features."""
import json
import os
import socket
import subprocess
import sys

import numpy as np
import tensorflow as tf

FEATURES = 60
BATCH = 64
STEPS = 520


class DriftMonitor:
    """Compares each feature of the recent samples with a reference by quantiles."""

    def __init__(self, reference, every=1):
        self.grid = np.linspace(0.01, 0.99, 50)
        self.reference = np.quantile(reference, self.grid, axis=0)
        self.window = np.array(reference[:6000])
        self.every = every
        self.worst = 0.0

    def watch(self, step, x):
        self.window = np.concatenate([self.window[len(x):], x])
        if step % self.every == 0:
            now = np.quantile(self.window, self.grid, axis=0)
            self.worst = max(self.worst, float(np.abs(now - self.reference).max()))


def table(index):
    rng = np.random.default_rng(70 + index)
    x = rng.normal(size=(12000, FEATURES)).astype(np.float32)
    y = (np.sin(x[:, 0] * 2) + x[:, 1]).astype(np.float32)
    return x, y


def build():
    return tf.keras.Sequential([
        tf.keras.layers.Input((FEATURES,)),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(1)])


def worker():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    resolver = strategy.cluster_resolver
    index, workers = resolver.task_id, len(resolver.cluster_spec().as_dict()["worker"])
    x, y = table(index)
    with strategy.scope():
        model = build()
        optimizer = tf.keras.optimizers.SGD(0.02)
        optimizer.build(model.trainable_variables)

    def replica_step(bx, by):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(bx, training=True)[:, 0] - by) ** 2) / (workers * BATCH)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    @tf.function
    def step(bx, by):
        return strategy.reduce("SUM", strategy.run(replica_step, args=(bx, by)), axis=None)

    monitor = DriftMonitor(x) if index == workers - 1 else None
    order = np.random.default_rng(index)
    for n in range(STEPS):
        pick = order.integers(0, len(x), BATCH)
        loss = step(tf.constant(x[pick]), tf.constant(y[pick]))
        if monitor is not None:
            monitor.watch(n, x[pick])
        if index == 0 and n % 160 == 0:
            print("step", n, "loss", round(float(loss), 4), flush=True)
    if monitor is not None:
        print("largest drift", round(monitor.worst, 3), flush=True)


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
