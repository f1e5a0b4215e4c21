"""Two workers train a multi-task model and agree on every metric each step."""
import json
import os
import socket
import subprocess
import sys

TASKS = 40
FEATURES = 64
BATCH = 64
STEPS = 220


def launch():
    ports = []
    for _ in range(2):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            ports.append(s.getsockname()[1])
    hosts = [f"127.0.0.1:{p}" for p in ports]
    children = []
    for index in range(2):
        env = dict(os.environ, TF_CONFIG=json.dumps({
            "cluster": {"worker": hosts},
            "task": {"type": "worker", "index": index}}))
        children.append(subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "worker"], env=env))
    return max(abs(c.wait()) for c in children)


def assays(tf, np, seed):
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(99).normal(size=(FEATURES, TASKS))

    def batch():
        x = rng.normal(size=(BATCH, FEATURES))
        y = (x @ mix / 8 + 0.3 * rng.normal(size=(BATCH, TASKS))) > 0
        return tf.constant(x, tf.float32), tf.constant(y, tf.float32)
    return batch


def worker():
    import numpy as np
    import tensorflow as tf
    tf.random.set_seed(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    index = strategy.cluster_resolver.task_id
    with strategy.scope():
        init = tf.random.Generator.from_seed(7)
        w1 = tf.Variable(init.normal([FEATURES, 128], stddev=0.1))
        w2 = tf.Variable(init.normal([128, TASKS], stddev=0.1))
        optimizer = tf.keras.optimizers.SGD(0.5)
        optimizer.build([w1, w2])
    names = [f"assay_{t:02d}" for t in range(TASKS)]

    def replica(x, y):
        with tf.GradientTape() as tape:
            logit = tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)
            each = tf.nn.sigmoid_cross_entropy_with_logits(y, logit)
            loss = tf.reduce_mean(each) / strategy.num_replicas_in_sync
        optimizer.apply_gradients(
            zip(tape.gradient(loss, [w1, w2]), [w1, w2]))
        hit = tf.cast(tf.equal(logit > 0, y > 0.5), tf.float32)
        return tf.reduce_mean(hit, axis=0)

    def combine(accuracy):
        """Mean over the workers for each assay."""
        out = {}
        for t, name in enumerate(names):
            mine = strategy.run(lambda a: a[t], args=(accuracy,))
            out[name] = strategy.reduce("MEAN", mine, axis=None)
        return out

    @tf.function
    def step(x, y):
        accuracy = strategy.run(replica, args=(x, y))
        return combine(accuracy)

    make = assays(tf, np, seed=index)
    recent = []
    for i in range(STEPS):
        result = step(*make())
        recent.append(result)
        if (i + 1) % 110 == 0 and index == 0:
            worst = min(names, key=lambda n: np.mean(
                [float(r[n]) for r in recent[-20:]]))
            mean = np.mean([float(v) for v in result.values()])
            print(f"step {i + 1}: accuracy {mean:.3f}, weakest {worst}",
                  flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "worker":
        worker()
    else:
        sys.exit(launch())
