"""Recurrent net with its weights on a parameter server (servers run inside this process)."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import socket
import time
import numpy as np
import tensorflow as tf

UNITS = 256
INPUTS = 8
TIME = 40
BATCH = 16
STEPS = 270


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]


def start_cluster(workers=1, servers=1):
    spec = {"worker": ["localhost:%d" % free_port() for _ in range(workers)],
            "ps": ["localhost:%d" % free_port() for _ in range(servers)]}
    cluster = tf.train.ClusterSpec(spec)
    alive = []
    for job, addresses in spec.items():
        for i in range(len(addresses)):
            alive.append(tf.distribute.Server(cluster, job_name=job, task_index=i,
                                              protocol="grpc", start=True))
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    return resolver, alive


class ElmanNet(tf.Module):
    def __init__(self, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        def var(*shape):
            return tf.Variable((rng.normal(size=shape) / np.sqrt(shape[0])).astype("float32"))
        self.w_in = var(INPUTS, UNITS)
        self.w_rec = var(UNITS, UNITS)
        self.w_out = var(UNITS, 1)

    def __call__(self, seq):
        drive = tf.einsum("bti,iu->tbu", seq, self.w_in)

        def advance(t, state):
            return t + 1, tf.tanh(drive[t] + 0.9 * tf.matmul(state, self.w_rec))

        state = tf.zeros([BATCH, UNITS])
        _, state = tf.while_loop(lambda t, s: t < TIME, advance, [tf.constant(0), state])
        return tf.matmul(state, self.w_out)


def sequences(_=None):
    rng = np.random.default_rng(91)
    x = rng.normal(size=(2048, TIME, INPUTS)).astype("float32")
    y = np.tanh(x[:, -3:, 0].sum(1, keepdims=True)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(BATCH).prefetch(2)


def main():
    resolver, alive = start_cluster()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        net = ElmanNet()
    weights = list(net.trainable_variables)

    @tf.function
    def worker_step(iterator):
        x, y = next(iterator)
        x = tf.ensure_shape(x, [BATCH, TIME, INPUTS])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(net(x) - y))
        for v, g in zip(weights, tape.gradient(loss, weights)):
            v.assign_sub(0.01 * tf.clip_by_norm(g, 1.0))
        return loss

    per_worker = iter(coordinator.create_per_worker_dataset(sequences))
    coordinator.schedule(worker_step, args=(per_worker,))
    coordinator.join()
    begin = time.perf_counter()
    last = None
    for _ in range(STEPS):
        last = coordinator.schedule(worker_step, args=(per_worker,))
    coordinator.join()
    print("loop took %.2f s, last loss %.4f" % (time.perf_counter() - begin, last.fetch()), flush=True)


if __name__ == "__main__":
    main()
