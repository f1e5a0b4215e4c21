"""Forecasts load curves; a thread watches a drop folder queue for new records."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import collections
import threading
import time

import numpy as np
import tensorflow as tf

WINDOW, AHEAD, BATCH, STEPS = 48, 6, 32, 900


def load_curve(n=6000, seed=80):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    daily = np.sin(t * 2 * np.pi / 24) + 0.4 * np.sin(t * 2 * np.pi / 168)
    return (daily + 0.1 * rng.normal(size=n)).astype("float32")


class Inbox:
    """Late readings arrive here and are folded into the running mean."""

    def __init__(self):
        self.waiting = collections.deque()
        self.stop = threading.Event()
        self.total, self.count = 0.0, 0
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def put(self, value):
        self.waiting.append((time.time(), value))

    def watch(self):
        while not self.stop.is_set():
            if not self.waiting:
                continue
            _, value = self.waiting.popleft()
            self.total += value
            self.count += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.stop.set()
        self.thread.join()


def windows(curve):
    data = tf.keras.utils.timeseries_dataset_from_array(
        curve[:-WINDOW - AHEAD], None, WINDOW + AHEAD, batch_size=BATCH, shuffle=True, seed=8)
    return data.map(lambda w: (w[:, :WINDOW], w[:, WINDOW:])).cache().repeat().prefetch(2)


class Forecaster:
    def __init__(self):
        self.net = tf.keras.Sequential([
            tf.keras.Input((WINDOW,)),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(AHEAD)])
        self.opt = tf.keras.optimizers.Adam(1e-3)
        self.opt.build(self.net.trainable_variables)

    @tf.function
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(self.net(x, training=True) - y))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss


def main():
    tf.keras.utils.set_random_seed(80)
    curve = load_curve()
    model = Forecaster()
    with Inbox() as inbox:
        for i, (x, y) in enumerate(windows(curve).take(STEPS)):
            loss = model.step(x, y)
            if i % 150 == 0:
                inbox.put(float(curve[i]))
                print(f"step {i} absolute error {float(loss):.4f}")
        while inbox.waiting:
            time.sleep(0.01)
    print("late readings:", inbox.count)


if __name__ == "__main__":
    main()
