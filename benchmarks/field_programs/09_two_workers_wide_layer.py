# source: tensorflow#46278 (MultiWorkerMirroredStrategy is very slow for a large model), tensorflow#34752
import json
import os
import socket
import subprocess
import sys

WORKERS = 2


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def start_workers():
    addresses = [f"127.0.0.1:{p}" for p in free_ports(WORKERS)]
    children = []
    for index in range(WORKERS):
        config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        env = dict(os.environ, TF_CONFIG=json.dumps(config))
        children.append(subprocess.Popen([sys.executable, os.path.abspath(__file__)], env=env))
    return max(child.wait() for child in children)


def train():
    import numpy as np
    import tensorflow as tf

    options = tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.RING)
    strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    tf.keras.utils.set_random_seed(46)
    batch, width, steps = 8, 2048, 60
    rng = np.random.default_rng(46)
    x = rng.normal(size=(batch * steps, width)).astype("float32")
    y = x[:, :1] - x[:, 1:2]
    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch).prefetch(2)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    feed = iter(strategy.experimental_distribute_dataset(data.with_options(options)))

    with strategy.scope():
        wide = tf.Variable(tf.random.normal((width, width), stddev=0.02, seed=1))
        last = tf.Variable(tf.random.normal((width, 1), stddev=0.02, seed=2))

    @tf.function
    def step(x, y):
        def fn(x, y):
            with tf.GradientTape() as tape:
                out = tf.nn.relu(x @ wide) @ last
                loss = tf.reduce_sum((out - y) ** 2) / batch
            grads = tape.gradient(loss, [wide, last])
            grads = tf.distribute.get_replica_context().all_reduce("sum", grads)
            wide.assign_sub(0.0003 * grads[0])
            last.assign_sub(0.0003 * grads[1])
            return loss
        return strategy.reduce("SUM", strategy.run(fn, args=(x, y)), axis=None)

    for number in range(steps):
        x, y = next(feed)
        loss = step(x, y)
    if strategy.cluster_resolver.task_id == 0:
        print("RESULT %.6f" % float(loss), flush=True)


if __name__ == "__main__":
    if "TF_CONFIG" in os.environ:
        train()
    else:
        sys.exit(start_workers())
