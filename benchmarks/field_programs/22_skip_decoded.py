"""Two workers, each takes its half of the samples with take/skip."""
import json
import os
import socket
import subprocess
import sys
import time

SIDE = 32
SAMPLES = 2400
BATCH = 40
EPOCHS = 4
READ_SECONDS = 0.0018  # one object of the bucket


def launch():
    hosts = []
    for _ in range(2):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            hosts.append(f"127.0.0.1:{s.getsockname()[1]}")
    children = []
    for index in range(2):
        cluster = {"cluster": {"worker": hosts},
                   "task": {"type": "worker", "index": index}}
        env = dict(os.environ, TF_CONFIG=json.dumps(cluster))
        children.append(subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "worker"], env=env))
    return max(abs(c.wait()) for c in children)


def encoded_pictures(np, tf):
    rng = np.random.default_rng(5)
    kinds = rng.integers(0, 4, 200)
    base = rng.integers(0, 255, (200, 48, 48, 3))
    base[np.arange(200), :, :, 0] = 60 * kinds[:, None, None]
    blobs = [tf.io.encode_jpeg(tf.constant(b, tf.uint8)).numpy() for b in base]
    pick = rng.integers(0, 200, SAMPLES)
    return [blobs[i] for i in pick], kinds[pick].astype("int32")


def pipeline(np, tf, index, workers):
    """One worker's share: a contiguous block of the samples."""
    blobs, labels = encoded_pictures(np, tf)
    share = SAMPLES // workers

    def fetch(number):
        time.sleep(READ_SECONDS)
        return blobs[number]

    def load(number, label):
        blob = tf.numpy_function(fetch, [number], tf.string)
        image = tf.io.decode_jpeg(tf.ensure_shape(blob, []), channels=3)
        image = tf.image.resize(tf.cast(image, tf.float32), [SIDE, SIDE])
        return image / 255.0, label

    ds = tf.data.Dataset.from_tensor_slices(
        (np.arange(SAMPLES), labels))
    ds = ds.map(load, num_parallel_calls=1)
    ds = ds.skip(index * share).take(share)
    return ds.batch(BATCH, drop_remainder=True).prefetch(1)


def worker():
    import numpy as np
    import tensorflow as tf
    tf.keras.utils.set_random_seed(2)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    index = strategy.cluster_resolver.task_id
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Input((SIDE, SIDE, 3)),
            tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(4)])
        optimizer = tf.keras.optimizers.SGD(0.02)
        optimizer.build(model.trainable_variables)

    def replica(x, y):
        with tf.GradientTape() as tape:
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(
                y, model(x, training=True))
            loss = tf.reduce_mean(each) / strategy.num_replicas_in_sync
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    @tf.function
    def step(x, y):
        return strategy.reduce(
            "SUM", strategy.run(replica, args=(x, y)), axis=None)

    ds = pipeline(np, tf, index, strategy.num_replicas_in_sync)
    for epoch in range(EPOCHS):
        losses = [step(x, y) for x, y in ds]
        if index == 0:
            mean = float(tf.reduce_mean(tf.stack(losses)))
            print(f"epoch {epoch + 1}: loss {mean:.3f}, {len(losses)} steps",
                  flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        worker()
    else:
        sys.exit(launch())
