"""Depth from colour: compiled forward and backward pass, update in the loop."""
import time

import numpy as np
import tensorflow as tf

SIDE = 32
BATCH = 16
IMAGES = 1600


def make_scenes(seed=10):
    rng = np.random.default_rng(seed)
    depth = np.kron(rng.uniform(0.0, 1.0, (IMAGES, 8, 8)), np.ones((1, 4, 4)))
    tint = rng.uniform(0.4, 1.0, (IMAGES, 1, 1, 3))
    colour = (1.0 - depth[..., None]) * tint + rng.normal(0.0, 0.03, depth.shape + (3,))
    return colour.astype("float32"), depth[..., None].astype("float32")


def fixed_options(dataset):
    """Keeps buffer sizes as they are written here."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def block(x, width):
    shortcut = x
    x = tf.keras.layers.SeparableConv2D(width, 3, padding="same", use_bias=False)(x)
    x = tf.keras.layers.BatchNormalization()(x)
    x = tf.keras.layers.Activation("swish")(x)
    x = tf.keras.layers.Conv2D(width, 1)(x)
    return x if shortcut.shape[-1] != width else tf.keras.layers.Add()([x, shortcut])


def build():
    inputs = tf.keras.Input((SIDE, SIDE, 3))
    x = tf.keras.layers.Conv2D(12, 3, strides=2, padding="same")(inputs)
    for _ in range(12):
        x = block(x, 12)
    x = tf.keras.layers.UpSampling2D(2)(x)
    return tf.keras.Model(inputs, tf.keras.layers.Conv2D(1, 3, padding="same")(x))


class DepthTrainer:
    def __init__(self):
        self.model = build()
        self.optimizer = tf.keras.optimizers.AdamW(1e-3, weight_decay=1e-4)
        self.optimizer.build(self.model.trainable_variables)
        self.clip_at = 5.0

    @tf.function
    def gradients(self, colour, depth):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.abs(self.model(colour, training=True) - depth))
        return loss, tape.gradient(loss, self.model.trainable_variables)

    def step(self, colour, depth):
        loss, gradients = self.gradients(colour, depth)
        gradients, _ = tf.clip_by_global_norm(gradients, self.clip_at)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss

    def epoch(self, dataset):
        for number, (colour, depth) in enumerate(dataset):
            loss = self.step(colour, depth)
            if number % 25 == 0:
                print(f"batch {number}: mean absolute error {float(loss):.4f}")


def main():
    tf.keras.utils.set_random_seed(10)
    dataset = fixed_options(tf.data.Dataset.from_tensor_slices(make_scenes())
                            .batch(BATCH, drop_remainder=True).prefetch(2))
    trainer = DepthTrainer()
    begin = time.perf_counter()
    trainer.epoch(dataset)
    print(f"training took {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
