"""Super-resolution toy under MirroredStrategy with NumPy-made batches."""
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration()] * 2)

SIZE = 32
FACTOR = 2
GLOBAL_BATCH = 32
STEPS = 200


class Textures:
    """Makes smooth random textures on the fly (cheap)."""

    def __init__(self, n=256, seed=0):
        rng = np.random.default_rng(seed)
        gx, gy = np.meshgrid(np.linspace(0, 1, SIZE), np.linspace(0, 1, SIZE))
        freq = rng.uniform(2, 25, (n, 2, 1, 1))
        phase = rng.uniform(0, 6, (n, 1, 1))
        self.sharp = np.sin(freq[:, 0] * gx + freq[:, 1] * gy + phase)
        self.sharp = self.sharp[..., None].astype("float32")
        self.rng = rng

    def pick(self, n):
        sharp = self.sharp[self.rng.integers(0, len(self.sharp), n)]
        coarse = sharp.reshape(n, SIZE // FACTOR, FACTOR,
                               SIZE // FACTOR, FACTOR, 1).mean((2, 4))
        return coarse, sharp


def network():
    low = tf.keras.Input((SIZE // FACTOR, SIZE // FACTOR, 1))
    x = low
    for _ in range(4):
        x = tf.keras.layers.Conv2D(48, 3, padding="same", activation="relu")(x)
    x = tf.keras.layers.Conv2D(FACTOR ** 2, 3, padding="same")(x)
    out = tf.keras.layers.Lambda(
        lambda t: tf.nn.depth_to_space(t, FACTOR),
        output_shape=(SIZE, SIZE, 1))(x)
    return tf.keras.Model(low, out)


class Job:
    def __init__(self):
        self.strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with self.strategy.scope():
            self.model = network()
            self.optimizer = tf.keras.optimizers.SGD(0.02)
        self.textures = Textures()

    def next_batch(self):
        coarse, sharp = self.textures.pick(GLOBAL_BATCH)

        def value(ctx):
            return tf.constant(coarse), tf.constant(sharp)

        return self.strategy.experimental_distribute_values_from_function(value)

    def replica(self, coarse, sharp):
        rows = tf.cast(tf.shape(sharp)[0], tf.float32)
        replicas = self.strategy.num_replicas_in_sync
        with tf.GradientTape() as tape:
            error = tf.square(self.model(coarse, training=True) - sharp)
            loss = tf.reduce_sum(tf.reduce_mean(error, [1, 2, 3]))
            loss /= rows * replicas
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(
            zip(grads, self.model.trainable_variables))
        return loss

    @tf.function
    def step(self, batch):
        per_replica = self.strategy.run(self.replica, args=batch)
        return self.strategy.reduce("SUM", per_replica, axis=None)

    def run(self):
        losses = []
        for i in range(STEPS):
            losses.append(self.step(self.next_batch()))
            if i % 50 == 49:
                print("step", i + 1, "mse", round(float(losses[-1]), 4))
        return losses


if __name__ == "__main__":
    tf.keras.utils.set_random_seed(7)
    history = [float(l) for l in Job().run()]
    print("best", min(history))
