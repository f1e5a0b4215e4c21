"""Two replicas fit an implicit surface network on sampled points (custom loop)."""
import numpy as np
import tensorflow as tf

POINTS = 2048
STEPS = 1800


def make_strategy():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


class PointSampler:
    """Points in a cube with their signed distance to a torus."""

    def __init__(self, seed=14):
        self.rng = np.random.default_rng(seed)

    def draw(self):
        p = self.rng.uniform(-1, 1, (POINTS, 3)).astype(np.float32)
        ring = np.hypot(p[:, 0], p[:, 1]) - 0.6
        return p, (np.hypot(ring, p[:, 2]) - 0.25).astype(np.float32)


def fourier(p):
    bands = 2.0 ** tf.range(4, dtype=tf.float32) * np.pi
    angle = tf.reshape(p[..., None] * bands, (-1, 12))
    return tf.concat([p, tf.sin(angle), tf.cos(angle)], axis=1)


def network():
    return tf.keras.Sequential([
        tf.keras.layers.Input((27,)),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(1)])


class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy
        self.sampler = PointSampler()
        with strategy.scope():
            self.net = network()
            self.optimizer = tf.keras.optimizers.SGD(0.05)
            self.optimizer.build(self.net.trainable_variables)

    def values(self, array):
        """Hands a NumPy batch to the replicas."""
        parts = [array for _ in range(2)]
        return self.strategy.experimental_distribute_values_from_function(
            lambda ctx: tf.constant(parts[ctx.replica_id_in_sync_group]))

    def replica_step(self, p, d):
        count = tf.cast(2 * tf.shape(p)[0], tf.float32)
        with tf.GradientTape() as tape:
            error = self.net(fourier(p), training=True)[:, 0] - d
            loss = tf.reduce_sum(tf.abs(error)) / count
        variables = self.net.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    @tf.function
    def step(self, p, d):
        return self.strategy.reduce("SUM", self.strategy.run(self.replica_step, args=(p, d)), axis=None)

    def fit(self):
        for n in range(STEPS):
            p, d = self.sampler.draw()
            loss = self.step(self.values(p), self.values(d))
            if n % 450 == 0:
                print("step", n, "loss", round(float(loss), 4))
        return float(loss)


def main():
    print("final loss", Trainer(make_strategy()).fit())


if __name__ == "__main__":
    main()
