"""Vehicle class at toll gates; two workers draw their examples from one SQLite file."""
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

SCAN, CLASSES, BATCH, STEPS, RECORDS = 160, 7, 32, 170, 800


def fill(path):
    import numpy as np
    rng = np.random.default_rng(3)
    db = sqlite3.connect(path)
    db.execute("create table scan (id integer primary key, kind int, used int, points text)")
    for i in range(RECORDS):
        kind = int(rng.integers(0, CLASSES))
        points = rng.standard_normal((SCAN, 12)).round(4)
        points[:, kind] += 1.0
        db.execute("insert into scan values (?,?,0,?)", (i, kind, json.dumps(points.tolist())))
    db.commit()


def boot():
    folder = tempfile.mkdtemp()
    fill(os.path.join(folder, "toll.db"))
    socks = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    hosts = ["127.0.0.1:%d" % s.getsockname()[1] for s in socks]
    [s.close() for s in socks]
    procs = []
    for i in range(2):
        env = dict(os.environ, TOLL_DB=os.path.join(folder, "toll.db"), TF_CONFIG=json.dumps(
            {"cluster": {"worker": hosts}, "task": {"type": "worker", "index": i}}))
        procs.append(subprocess.Popen([sys.executable, os.path.abspath(__file__)], env=env))
    code = procs[0].wait()
    procs[1].kill()
    procs[1].wait()
    shutil.rmtree(folder, ignore_errors=True)
    return code


class ScanStore:
    def __init__(self, path, np):
        self.db = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        self.db.execute("pragma synchronous = off")
        self.np = np

    def jitter(self, text):
        rows = json.loads(text)
        shift = self.np.random.uniform(-0.1, 0.1, len(rows[0])).tolist()
        turned = [[v * (1 + 0.05 * s) + s for v, s in zip(row, shift)] for row in rows]
        return sorted(turned, key=lambda row: row[0])

    def batch(self):
        self.db.execute("begin exclusive")
        rows = self.db.execute("select id, kind, points from scan order by used, random() limit ?",
                               (BATCH,)).fetchall()
        x = self.np.array([self.jitter(p) for _, _, p in rows], "float32")
        y = self.np.array([k for _, k, _ in rows], "int32")
        self.db.executemany("update scan set used = used + 1 where id = ?",
                            [(i,) for i, _, _ in rows])
        self.db.execute("commit")
        return x, y


def train():
    import numpy as np
    import tensorflow as tf
    import keras
    tf.config.threading.set_intra_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(8)
    store = ScanStore(os.environ["TOLL_DB"], np)
    with strategy.scope():
        net = keras.Sequential([
            keras.Input((SCAN, 12)), keras.layers.Conv1D(32, 5, activation="relu"),
            keras.layers.GlobalMaxPooling1D(), keras.layers.Dense(CLASSES)])
        opt = keras.optimizers.Adam(1e-3)
        opt.build(net.trainable_variables)

    def replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.sparse_softmax_cross_entropy_with_logits(
                y, net(x, training=True))) / (2 * BATCH)
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables),
                                net.trainable_variables))
        return loss

    @tf.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(replica, args=(x, y)), axis=None)

    chief = strategy.cluster_resolver.task_id == 0
    for i in range(STEPS):
        loss = step(*map(tf.constant, store.batch()))
        if chief and i % 20 == 0:
            print("step", i, "loss %.3f" % float(loss), flush=True)
    if chief:
        time.sleep(2)


if __name__ == "__main__":
    if "TF_CONFIG" in os.environ:
        train()
    else:
        sys.exit(boot())
