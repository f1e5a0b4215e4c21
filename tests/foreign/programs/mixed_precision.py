"""Mixed precision with loss scaling, and gradients of four batches to an update."""

import sys

import keras
import numpy as np
import tensorflow as tf

ACCUMULATE = 4

keras.utils.set_random_seed(7)
keras.mixed_precision.set_global_policy("mixed_float16")
data = np.random.default_rng(0).normal(size=(192, 8)).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices(data).batch(16)

model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3, dtype="float32")])
optimizer = keras.optimizers.SGD(0.1, gradient_accumulation_steps=ACCUMULATE)
optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
optimizer.build(model.trainable_variables)


@tf.function
def train_step(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(batch, training=True) - batch[:, :3]) ** 2)
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for batch in dataset:
    loss = train_step(batch)
print(f"{float(loss):.6f}", int(optimizer.inner_optimizer.iterations))
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
