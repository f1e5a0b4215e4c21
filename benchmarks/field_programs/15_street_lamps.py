"""Cleaning night pictures of street lamps with an autoencoder on two workers."""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

SIDE, BATCH, STEPS = 32, 16, 90


def cluster_of(n):
    opened = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    addresses = ["127.0.0.1:%d" % s.getsockname()[1] for s in opened]
    for s in opened:
        s.close()
    return addresses


def parent():
    hosts, folder = cluster_of(2), tempfile.mkdtemp()
    jobs = []
    for i in range(2):
        env = dict(os.environ, LAMP_FOLDER=folder, TF_CONFIG=json.dumps(
            {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": i}}))
        jobs.append(subprocess.Popen([sys.executable, os.path.abspath(__file__)], env=env))
    code = jobs[0].wait()
    try:
        jobs[1].wait(timeout=6)
    except subprocess.TimeoutExpired:
        jobs[1].kill()
        jobs[1].wait()
    shutil.rmtree(folder, ignore_errors=True)
    return code


class Album:
    """Contact sheet of cleaned pictures for the project page."""

    def __init__(self, folder, net, samples):
        self.folder, self.net, self.samples = folder, net, samples

    def page(self, step):
        from PIL import Image, ImageDraw
        cleaned = self.net(self.samples, training=False).numpy().clip(0, 1)
        sheet = Image.new("RGB", (8 * 100, 4 * 100), "black")
        draw = ImageDraw.Draw(sheet)
        for k, (before, after) in enumerate(zip(self.samples, cleaned)):
            for j, img in enumerate((before, after)):
                img = Image.fromarray((img[..., 0] * 255).astype("uint8")).resize((96, 96))
                sheet.paste(img.convert("RGB"), ((2 * k + j) % 8 * 100, (2 * k + j) // 8 * 100))
            draw.text((2 * k % 8 * 100, k // 4 * 100), str(k), fill="red")
        sheet.save(os.path.join(self.folder, "sheet_%05d.png" % step), optimize=True)


def work():
    import numpy as np
    import tensorflow as tf
    import keras
    tf.config.threading.set_intra_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(14)
    me = strategy.cluster_resolver.task_id
    rng = np.random.default_rng(me)
    lamps = rng.random((640, SIDE, SIDE, 1)).astype("float32") * 0.5
    lamps[:, 8:16, 8:16] += 0.5
    feed = iter(strategy.distribute_datasets_from_function(
        lambda ctx: tf.data.Dataset.from_tensor_slices(lamps).repeat().batch(BATCH).prefetch(2)))
    with strategy.scope():
        net = keras.Sequential([
            keras.Input((SIDE, SIDE, 1)),
            keras.layers.Conv2D(12, 3, padding="same", activation="relu"),
            keras.layers.Conv2D(12, 3, padding="same", activation="relu"),
            keras.layers.Conv2D(1, 3, padding="same")])
        opt = keras.optimizers.Adam(1e-3)
        opt.build(net.trainable_variables)

    def replica(x):
        with tf.GradientTape() as tape:
            noisy = x + tf.random.normal(tf.shape(x), stddev=0.1)
            loss = tf.reduce_mean(tf.square(net(noisy, training=True) - x)) / 2
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables),
                                net.trainable_variables))
        return loss

    @tf.function
    def step(it):
        return strategy.reduce("SUM", strategy.run(replica, args=(next(it),)), axis=None)

    album = Album(os.environ["LAMP_FOLDER"], net, lamps[:16])
    for i in range(STEPS):
        loss = step(feed)
        if me == 0:
            album.page(i)
            if i % 25 == 0:
                print("step %d loss %.5f" % (i, float(loss)), flush=True)
    if me == 0:
        time.sleep(2)


if __name__ == "__main__":
    if os.environ.get("TF_CONFIG"):
        work()
    else:
        sys.exit(parent())
