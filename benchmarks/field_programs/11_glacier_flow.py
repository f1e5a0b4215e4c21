"""Glacier velocity fields: a fully connected network with a smoothness term, own training loop."""
import time

import numpy as np
import tensorflow as tf
import keras

POINTS = 6000
BATCH = 96
STEPS = 420


def measurements(n, seed=23):
    rng = np.random.default_rng(seed)
    xyt = rng.uniform(-1, 1, size=(n, 3)).astype("float32")
    speed = np.stack([np.sin(2 * xyt[:, 0]) * xyt[:, 2], np.cos(xyt[:, 1]) ** 2], axis=1)
    return xyt, (speed + 0.02 * rng.standard_normal(speed.shape)).astype("float32")


class FlowNet(keras.Model):
    def __init__(self, depth=6, width=48):
        super().__init__()
        self.stack = [keras.layers.Dense(width, activation="tanh") for _ in range(depth)]
        self.norms = [keras.layers.LayerNormalization() for _ in range(depth)]
        self.out = keras.layers.Dense(2)

    def call(self, x):
        for dense, norm in zip(self.stack, self.norms):
            x = norm(dense(x))
        return self.out(x)


class Fitter:
    def __init__(self, net, rate=1e-3, smooth=1e-3):
        self.net, self.smooth = net, smooth
        self.opt = keras.optimizers.Adam(rate)
        net(tf.zeros((1, 3)))
        self.opt.build(net.trainable_variables)
        self.running = keras.metrics.Mean()

    def losses(self, xyt, speed):
        guess = self.net(xyt, training=True)
        data = tf.reduce_mean(tf.square(guess - speed))
        shifted = self.net(xyt + tf.constant([0.01, 0.0, 0.0]), training=True)
        return data + self.smooth * tf.reduce_mean(tf.square((shifted - guess) / 0.01))

    def update(self, xyt, speed):
        with tf.GradientTape() as tape:
            loss = self.losses(xyt, speed)
        grads = tape.gradient(loss, self.net.trainable_variables)
        grads, _ = tf.clip_by_global_norm(grads, 1.0)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        self.running.update_state(loss)
        return loss


def main():
    keras.utils.set_random_seed(6)
    ds = tf.data.Dataset.from_tensor_slices(measurements(POINTS))
    batches = iter(ds.shuffle(POINTS, seed=1).repeat().batch(BATCH).prefetch(4))
    fitter = Fitter(FlowNet())
    fitter.update(*next(batches))
    t0 = time.perf_counter()
    for step in range(1, STEPS + 1):
        fitter.update(*next(batches))
        if step % 100 == 0:
            print("step %d mean loss %.4f" % (step, float(fitter.running.result())))
    print("loop %.2f s" % (time.perf_counter() - t0))


if __name__ == "__main__":
    main()
