"""Runoff model with a learned water store, rolled through a year of daily forcing."""
import time

import numpy as np
import tensorflow as tf
import keras

DAYS = 240
STATE = 24
FORCING = 5
BATCH = 16
STEPS = 60


def catchments(n=512, seed=47):
    rng = np.random.default_rng(seed)
    forcing = rng.gamma(1.0, 1.0, size=(n, DAYS, FORCING)).astype("float32")
    store = np.zeros(n)
    flow = np.zeros((n, DAYS), "float32")
    for day in range(DAYS):
        store = 0.9 * store + forcing[:, day, 0]
        flow[:, day] = 0.1 * store
    return forcing, flow


class StoreCell(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.gate = keras.layers.Dense(STATE, activation="sigmoid")
        self.fill = keras.layers.Dense(STATE, activation="softplus")
        self.drain = keras.layers.Dense(1, activation="softplus")

    def call(self, water, rain):
        mixed = tf.concat([water, rain], axis=1)
        keep = self.gate(mixed)
        water = keep * water + (1.0 - keep) * self.fill(mixed)
        return water, self.drain(water)


class RunoffModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.cell = StoreCell()

    def call(self, forcing):
        water = tf.zeros((BATCH, STATE))
        flows = []
        for day in range(DAYS):
            water, flow = self.cell(water, forcing[:, day])
            flows.append(flow)
        return tf.concat(flows, axis=1)


def main():
    keras.utils.set_random_seed(29)
    ds = tf.data.Dataset.from_tensor_slices(catchments()).shuffle(512, seed=1).repeat()
    batches = iter(ds.batch(BATCH, drop_remainder=True).prefetch(4))
    model, opt = RunoffModel(), keras.optimizers.Adam(3e-3)

    @tf.function
    def train_step(forcing, flow):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(forcing, training=True) - flow))
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    t0 = time.perf_counter()
    for step in range(1, STEPS + 1):
        loss = train_step(*next(batches))
        if step % 15 == 0:
            print("step %d loss %.4f" % (step, float(loss)))
    print("loop %.2f s" % (time.perf_counter() - t0))


if __name__ == "__main__":
    main()
