# source: tensorflow#34752, tensorflow#48374 (MultiWorkerMirroredStrategy slower than one machine; reading data on one of them)
import json
import os
import socket
import subprocess
import sys


def ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    numbers = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return numbers


def launch(count=2):
    cluster = {"worker": [f"localhost:{p}" for p in ports(count)]}
    processes = []
    for index in range(count):
        env = {**os.environ, "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})}
        processes.append(subprocess.Popen([sys.executable, __file__], env=env))
    codes = [p.wait() for p in processes]
    sys.exit(max(codes))


def work():
    import time

    import numpy as np
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    me = strategy.cluster_resolver.task_id
    tf.keras.utils.set_random_seed(52)
    per_worker, steps = 16, 90

    def examples():
        rng = np.random.default_rng(me)
        for _ in range(steps):
            if me == 1:
                time.sleep(0.12)  # the second machine has its pictures on a network disk
            x = rng.normal(size=(per_worker, 64)).astype("float32")
            yield x, np.tanh(x[:, :1])

    def dataset_fn(context):
        signature = (tf.TensorSpec((per_worker, 64)), tf.TensorSpec((per_worker, 1)))
        data = tf.data.Dataset.from_generator(examples, output_signature=signature)
        return data.prefetch(2)

    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.Input((64,)),
            tf.keras.layers.Dense(128, activation="relu"),
            tf.keras.layers.Dense(1),
        ])
        optimizer = tf.keras.optimizers.SGD(0.05)
        optimizer.build(model.trainable_variables)
    feed = iter(strategy.distribute_datasets_from_function(dataset_fn))

    @tf.function
    def train_step(x, y):
        def fn(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y)) / 2
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            return loss
        return strategy.reduce("SUM", strategy.run(fn, args=(x, y)), axis=None)

    for step in range(steps):
        x, y = next(feed)
        loss = train_step(x, y)
        if me == 0 and step % 30 == 29:
            print("step", step + 1, "loss", float(loss), flush=True)
    if me == 0:
        print("RESULT %.6f" % float(loss), flush=True)


if __name__ == "__main__":
    work() if os.environ.get("TF_CONFIG") else launch()
