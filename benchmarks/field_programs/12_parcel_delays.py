"""Parcel delays from scan events. Short rounds of training, a report after each."""
import time

import numpy as np
import tensorflow as tf
import keras

N_EVENTS = 40000
DEPOTS = 200
BATCH = 64
ROUNDS = 12
STEPS_PER_ROUND = 30


def scan_lines(n, seed=24):
    rng = np.random.default_rng(seed)
    src, dst = rng.integers(DEPOTS, size=n), rng.integers(DEPOTS, size=n)
    weight, hour = rng.gamma(2.0, 3.0, n), rng.integers(24, size=n)
    delay = 0.02 * np.abs(src - dst) + 0.1 * weight + (hour > 17) + rng.exponential(0.3, n)
    return ["%d,%d,%.3f,%d,%.4f" % row for row in zip(src, dst, weight, hour, delay)]


def parse(line):
    src, dst, weight, hour, delay = tf.io.decode_csv(line, [[0], [0], [0.0], [0], [0.0]])
    return {"src": src, "dst": dst, "weight": weight, "hour": hour}, delay


def events(lines):
    ds = tf.data.Dataset.from_tensor_slices(lines)
    ds = ds.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.shuffle(N_EVENTS)
    return ds.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


class DelayModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.src = keras.layers.Embedding(DEPOTS, 32)
        self.dst = keras.layers.Embedding(DEPOTS, 32)
        self.hour = keras.layers.Embedding(24, 8)
        self.deep = [keras.layers.Dense(512, activation="relu") for _ in range(3)]
        self.out = keras.layers.Dense(1)

    def call(self, f):
        x = tf.concat([self.src(f["src"]), self.dst(f["dst"]), self.hour(f["hour"]),
                       f["weight"][:, None]], axis=1)
        for layer in self.deep:
            x = layer(x)
        return self.out(x)[:, 0]


def main():
    keras.utils.set_random_seed(10)
    ds = events(scan_lines(N_EVENTS))
    model = DelayModel()
    opt = keras.optimizers.Adam(1e-3)

    @tf.function
    def train_step(features, delay):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(model(features, training=True) - delay))
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    train_step(*next(iter(ds.take(1))))
    t0 = time.perf_counter()
    for number in range(1, ROUNDS + 1):
        total = 0.0
        batches = iter(ds)
        for _ in range(STEPS_PER_ROUND):
            total += train_step(*next(batches))
        print("round %d mae %.4f" % (number, float(total) / STEPS_PER_ROUND))
    print("loop %.2f s" % (time.perf_counter() - t0))


if __name__ == "__main__":
    main()
