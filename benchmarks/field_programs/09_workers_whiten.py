"""Two workers; hidden units are scaled by their second moment over all workers."""
import json
import os
import socket
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

UNITS = 1500
INPUTS = 48
PER_WORKER = 32
STEPS = 430


def free_ports(n):
    socks = [socket.socket() for _ in range(n)]
    for s in socks:
        s.bind(("localhost", 0))
    ports = [s.getsockname()[1] for s in socks]
    for s in socks:
        s.close()
    return ports


def launch():
    workers = ["localhost:%d" % p for p in free_ports(2)]
    procs = []
    for i in range(2):
        env = dict(os.environ)
        env["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers},
                                       "task": {"type": "worker", "index": i}})
        procs.append(subprocess.Popen([sys.executable, os.path.abspath(__file__), "worker"], env=env))
    return max(p.wait() for p in procs)


def local_data(index):
    import numpy as np
    rng = np.random.default_rng(100 + index)
    x = rng.normal(size=(4096, INPUTS)).astype("float32")
    y = np.sin(x[:, :1]) + 0.5 * x[:, 1:2]
    return x, y.astype("float32")


def worker():
    import numpy as np
    import tensorflow as tf
    index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    rng = np.random.default_rng(1)
    with strategy.scope():
        w1 = tf.Variable((rng.normal(size=(INPUTS, UNITS)) / 7).astype("float32"))
        w2 = tf.Variable((rng.normal(size=(UNITS, 1)) / 40).astype("float32"))
        scale = tf.Variable(tf.ones([UNITS]), trainable=False)
    weights = [w1, w2]
    n_global = PER_WORKER * strategy.num_replicas_in_sync

    def second_moment(h):
        """Mean of h_i squared over the batches of all workers."""
        moments = tf.matmul(h, h, transpose_a=True) / float(n_global)
        moments = tf.distribute.get_replica_context().all_reduce("SUM", moments)
        return tf.linalg.diag_part(moments)

    def replica(x, y):
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.matmul(x, w1))
            out = tf.matmul(h / tf.sqrt(scale + 1e-3), w2)
            loss = tf.reduce_sum(tf.square(out - y)) / float(n_global)
        grads = tape.gradient(loss, weights)
        grads = tf.distribute.get_replica_context().all_reduce("SUM", grads)
        return loss, grads, second_moment(tf.stop_gradient(h))

    @tf.function
    def train_step(x, y):
        loss, grads, moment = strategy.run(replica, args=(x, y))
        for v, g in zip(weights, grads):
            v.assign_sub(0.02 * g)
        scale.assign(0.95 * scale + 0.05 * moment)
        return loss

    x, y = local_data(index)
    pick = np.random.default_rng(index)

    def batch():
        i = pick.integers(0, len(x), PER_WORKER)
        return tf.constant(x[i]), tf.constant(y[i])

    train_step(*batch())
    begin = time.perf_counter()
    for n in range(STEPS):
        loss = train_step(*batch())
        if index == 0 and n % 40 == 0:
            print("step", n, "local loss %.4f" % float(loss), flush=True)
    if index == 0:
        print("loop took %.2f s" % (time.perf_counter() - begin), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "worker":
        worker()
    else:
        sys.exit(launch())
