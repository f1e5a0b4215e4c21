"""An eager loop of one replica: two tapes a step, and an update every other batch."""

import sys

import keras
import numpy as np
import tensorflow as tf

BATCH = 16

keras.utils.set_random_seed(0)
data = np.random.default_rng(0).normal(size=(10 * BATCH, 8)).astype("float32")
model = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(4, activation="relu"), keras.layers.Dense(3)]
)
critic = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
optimizers = [keras.optimizers.SGD(0.1), keras.optimizers.SGD(0.1)]
kept = [tf.zeros_like(each) for each in model.trainable_variables]

for number, batch in enumerate(tf.data.Dataset.from_tensor_slices(data).batch(BATCH)):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(batch, training=True) - batch[:, :3]) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    kept = [old + new for old, new in zip(kept, gradients, strict=True)]
    if number % 2:
        optimizers[0].apply(kept, model.trainable_variables)
        kept = [tf.zeros_like(each) for each in kept]
    with tf.GradientTape() as tape:
        judged = tf.reduce_mean(critic(model(batch)) ** 2)
    gradients = tape.gradient(judged, critic.trainable_variables)
    optimizers[1].apply_gradients(zip(gradients, critic.trainable_variables, strict=True))
    if number % 5 == 0:
        print(number, float(loss))

weights = [np.ravel(each) for each in [*model.get_weights(), *critic.get_weights()]]
np.save(sys.argv[1], np.concatenate(weights))
