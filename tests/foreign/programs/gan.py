"""A GAN in a custom loop, after the DCGAN tutorial: two models, two optimizers, no strategy."""

import sys

import keras
import numpy as np
import tensorflow as tf

BATCH_SIZE = 16
NOISE = 4

keras.utils.set_random_seed(7)
real = np.random.default_rng(0).normal(size=(6 * BATCH_SIZE, 8)).astype("float32")
train_dataset = tf.data.Dataset.from_tensor_slices(real).batch(BATCH_SIZE)

generator = keras.Sequential([keras.Input((NOISE,)), keras.layers.Dense(8)])
discriminator = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)
generator_optimizer = keras.optimizers.Adam(1e-3)
discriminator_optimizer = keras.optimizers.Adam(1e-3)
generator_optimizer.build(generator.trainable_variables)
discriminator_optimizer.build(discriminator.trainable_variables)


@tf.function
def train_step(images):
    noise = tf.random.stateless_normal((BATCH_SIZE, NOISE), seed=(1, 2))
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        generated = generator(noise, training=True)
        real_output = discriminator(images, training=True)
        fake_output = discriminator(generated, training=True)
        gen_loss = cross_entropy(tf.ones_like(fake_output), fake_output)
        disc_loss = cross_entropy(tf.ones_like(real_output), real_output) + cross_entropy(
            tf.zeros_like(fake_output), fake_output
        )
    gen_gradients = gen_tape.gradient(gen_loss, generator.trainable_variables)
    disc_gradients = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gen_gradients, generator.trainable_variables))
    discriminator_optimizer.apply_gradients(zip(disc_gradients, discriminator.trainable_variables))


for _ in range(2):
    for image_batch in train_dataset:
        train_step(image_batch)

weights = [*generator.get_weights(), *discriminator.get_weights()]
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in weights]))
print(f"{np.abs(np.load(sys.argv[1])).sum():.6f}")
