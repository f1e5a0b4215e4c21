"""Crop segmentation on two replicas, with a watch on channels that have died."""
import time

import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

SIDE = 128
CHANNELS = 96
BATCH = 8
STEPS = 420


def make_fields(seed=3):
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 2, (BATCH * 8, SIDE // 16, SIDE // 16))
    mask = np.kron(coarse, np.ones((1, 16, 16)))
    image = mask[..., None] * [0.2, 0.6, 0.1] + rng.normal(0.0, 0.2, mask.shape + (3,))
    return image.astype("float32"), mask.astype("int32")


def fixed_options(dataset):
    """Keeps buffer sizes as they are written here."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def build():
    inputs = tf.keras.Input((SIDE, SIDE, 3))
    x = tf.keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    features = tf.keras.layers.Conv2D(CHANNELS, 1, activation="relu", name="features")(x)
    pooled = tf.keras.layers.AveragePooling2D(2)(features)
    logits = tf.keras.layers.Conv2D(2, 1)(pooled)
    return tf.keras.Model(inputs, [logits, features])


class Segmenter:
    def __init__(self, strategy):
        self.strategy = strategy
        with strategy.scope():
            self.model = build()
            self.optimizer = tf.keras.optimizers.SGD(0.05)
            self.optimizer.build(self.model.trainable_variables)
        self.alive = []

    def replica_step(self, image, mask):
        with tf.GradientTape() as tape:
            logits, features = self.model(image, training=True)
            loss = tf.nn.sparse_softmax_cross_entropy_with_logits(mask[:, ::4, ::4], logits)
            loss = tf.reduce_mean(loss) / self.strategy.num_replicas_in_sync
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss, features

    @tf.function
    def step(self, image, mask):
        loss, features = self.strategy.run(self.replica_step, args=(image, mask))
        total = self.strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None)
        everywhere = self.strategy.gather(features, axis=0)
        strength = tf.reduce_mean(everywhere, axis=(0, 1, 2))
        return total, strength

    def fit(self, dataset, steps):
        batches = iter(self.strategy.experimental_distribute_dataset(dataset))
        for number in range(steps):
            loss, strength = self.step(*next(batches))
            self.alive.append(strength)
            if number % 100 == 0:
                print(f"step {number}: loss {float(loss):.3f}",
                      f"{int(tf.reduce_sum(tf.cast(strength > 1e-4, tf.int32)))} channels alive")


def main():
    tf.keras.utils.set_random_seed(6)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    dataset = fixed_options(
        tf.data.Dataset.from_tensor_slices(make_fields()).batch(BATCH).repeat().prefetch(2))
    segmenter = Segmenter(strategy)
    begin = time.perf_counter()
    segmenter.fit(dataset, STEPS)
    print(f"training took {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
