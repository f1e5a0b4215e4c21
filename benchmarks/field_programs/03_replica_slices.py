"""Gesture recognition from short windows of sensor data, on two replicas."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

GLOBAL_BATCH, STEPS, LENGTH, CHANNELS, CLASSES = 192, 170, 96, 9, 12


def two_devices():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(2)])
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


class Windows:
    """Draws balanced batches of noisy sine mixtures."""

    def __init__(self, seed=21):
        self.rng = np.random.default_rng(seed)
        self.freq = self.rng.uniform(1, 9, (CLASSES, CHANNELS))
        self.t = np.linspace(0, 1, LENGTH)[:, None]
        pool = [self._draw() for _ in range(24)]
        self.x = np.stack([p[0] for p in pool])
        self.y = np.stack([p[1] for p in pool])

    def _draw(self):
        y = self.rng.integers(0, CLASSES, GLOBAL_BATCH)
        phase = self.rng.uniform(0, 6.28, (GLOBAL_BATCH, 1, CHANNELS))
        x = np.sin(6.28 * self.freq[y][:, None] * self.t + phase)
        x += 0.6 * self.rng.normal(size=x.shape)
        return x.astype("float32"), y.astype("int32")

    def batch(self, i):
        return self.x[i % len(self.x)], self.y[i % len(self.y)]


def build_model():
    layers = [tf.keras.Input((LENGTH, CHANNELS))]
    for filters in (48, 64, 64):
        layers += [tf.keras.layers.Conv1D(filters, 7, padding="same", activation="relu")]
    layers += [tf.keras.layers.GlobalAveragePooling1D(), tf.keras.layers.Dense(CLASSES)]
    return tf.keras.Sequential(layers)


class Job:
    def __init__(self, strategy):
        self.strategy = strategy
        self.windows = Windows()
        self.replicas = strategy.num_replicas_in_sync
        with strategy.scope():
            self.model = build_model()
            self.opt = tf.keras.optimizers.Adam(1e-3)
            self.opt.build(self.model.trainable_variables)

    def place(self, x, y):
        """Hands the step's arrays to the replicas."""
        def values(array):
            share = tf.constant(array)
            return self.strategy.experimental_distribute_values_from_function(
                lambda ctx: share)
        return values(x), values(y)

    def replica_step(self, x, y):
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            loss = tf.reduce_mean(losses) / self.replicas
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    @tf.function
    def step(self, x, y):
        per_replica = self.strategy.run(self.replica_step, args=(x, y))
        return self.strategy.reduce("SUM", per_replica, axis=None)

    def train(self):
        for i in range(STEPS):
            x, y = self.place(*self.windows.batch(i))
            loss = self.step(x, y)
            if i % 40 == 0:
                print(f"{i:4d} loss {float(loss):.4f}")


if __name__ == "__main__":
    tf.keras.utils.set_random_seed(21)
    Job(two_devices()).train()
