"""A small Transformer on two replicas: mixed precision, and four gradients to an update.

After the tutorial on translation; MirroredStrategy, loss scaling, and gradients that each replica
adds up over parts of its batch.
"""

import sys

import keras
import numpy as np
import tensorflow as tf

PARTS = 4
GLOBAL_BATCH_SIZE = 64
LENGTH, VOCABULARY, WIDTH = 32, 64, 64

keras.utils.set_random_seed(7)
keras.mixed_precision.set_global_policy("mixed_float16")
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


class Block(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.attention = keras.layers.MultiHeadAttention(num_heads=2, key_dim=WIDTH // 2)
        self.feed_forward = keras.Sequential(
            [keras.layers.Dense(4 * WIDTH, "relu"), keras.layers.Dense(WIDTH)]
        )
        self.norms = [keras.layers.LayerNormalization() for _ in range(2)]

    def call(self, x):
        x = self.norms[0](x + self.attention(x, x, use_causal_mask=True))
        return self.norms[1](x + self.feed_forward(x))


def make_model():
    tokens = keras.Input((LENGTH,), dtype="int32")
    x = keras.layers.Embedding(VOCABULARY, WIDTH)(tokens)
    x = Block()(x)
    return keras.Model(tokens, keras.layers.Dense(VOCABULARY, dtype="float32")(x))


rng = np.random.default_rng(0)
text = rng.integers(0, VOCABULARY, (6 * GLOBAL_BATCH_SIZE, LENGTH + 1)).astype("int32")
dataset = tf.data.Dataset.from_tensor_slices((text[:, :-1], text[:, 1:]))
dist_dataset = strategy.experimental_distribute_dataset(dataset.batch(GLOBAL_BATCH_SIZE))

with strategy.scope():
    model = make_model()
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(1e-2))
    optimizer.build(model.trainable_variables)
    loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)


def replica_step(inputs):
    parts = [tf.reshape(each, (PARTS, -1, LENGTH)) for each in inputs]
    sums = [tf.zeros_like(each) for each in model.trainable_variables]
    total = 0.0
    for part in tf.range(PARTS):
        tokens, labels = (each[part] for each in parts)
        with tf.GradientTape() as tape:
            errors = tf.reduce_mean(loss_object(labels, model(tokens, training=True)), axis=-1)
            loss = tf.nn.compute_average_loss(errors, global_batch_size=GLOBAL_BATCH_SIZE)
            scaled = optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, model.trainable_variables)
        sums = [each + tf.convert_to_tensor(one) for each, one in zip(sums, gradients)]
        total += loss
    optimizer.apply_gradients(zip(sums, model.trainable_variables))
    return total


@tf.function
def train_step(inputs):
    losses = strategy.run(replica_step, args=(inputs,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


for inputs in dist_dataset:
    loss = train_step(inputs)
print(f"{float(loss):.4f}")
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
