"""Physics-informed network: diffusion of several species, residual from second derivatives."""
import time

import numpy as np
import tensorflow as tf

SPECIES = 34
POINTS = 64
STEPS = 16


class Field(tf.Module):
    def __init__(self):
        super().__init__()
        inputs = tf.keras.Input((3,))
        x = inputs
        for _ in range(4):
            x = tf.keras.layers.Dense(32, activation="tanh")(x)
        self.net = tf.keras.Model(inputs, tf.keras.layers.Dense(SPECIES)(x))
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        self.rate = tf.constant(np.linspace(0.05, 0.6, SPECIES), tf.float32)

    def derivatives(self, points):
        """Values, first derivatives and second derivatives for each species."""
        first, second = [], []
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(points)
            with tf.GradientTape(persistent=True) as inner:
                inner.watch(points)
                values = self.net(points, training=True)
                parts = [values[:, k] for k in range(SPECIES)]
            for k in range(SPECIES):
                first.append(inner.gradient(parts[k], points))
            lines = [g[:, axis] for g in first for axis in (1, 2)]
        for k in range(SPECIES):
            along = [outer.gradient(lines[2 * k + j], points)[:, j + 1] for j in range(2)]
            second.append(tf.add_n(along))
        return values, tf.stack(first, axis=1), tf.stack(second, axis=1)

    @tf.function
    def step(self, points, start):
        with tf.GradientTape() as tape:
            values, slopes, laplacian = self.derivatives(points)
            residual = slopes[:, :, 0] - self.rate * laplacian
            at_start = self.net(points * tf.constant([0.0, 1.0, 1.0]), training=True)
            loss = tf.reduce_mean(tf.square(residual))
            loss += tf.reduce_mean(tf.square(at_start - start))
        weights = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss, tf.reduce_mean(tf.abs(values))


def collocation(rng):
    points = rng.uniform(0.0, 1.0, (POINTS, 3)).astype("float32")
    order = np.arange(1, SPECIES + 1)
    start = np.sin(np.pi * points[:, 1:2]) * np.sin(np.pi * points[:, 2:3]) / order
    return tf.constant(points), tf.constant(start.astype("float32"))


def main():
    tf.keras.utils.set_random_seed(26)
    rng = np.random.default_rng(26)
    batches = [collocation(rng) for _ in range(6)]
    field = Field()
    begin = time.perf_counter()
    for number in range(STEPS):
        loss, size = field.step(*batches[number % len(batches)])
        if number % 8 == 0:
            print(f"step {number}: loss {float(loss):.4f}, mean value {float(size):.3f}",
                  f"after {time.perf_counter() - begin:.1f} s")
    print(f"training took {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
