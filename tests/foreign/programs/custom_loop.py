"""A custom loop under MirroredStrategy, with an evaluation after each epoch."""

import sys

import keras
import numpy as np
import tensorflow as tf

EPOCHS = 2
GLOBAL_BATCH_SIZE = 16
EXAMPLES = 5 * GLOBAL_BATCH_SIZE

keras.utils.set_random_seed(7)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

rng = np.random.default_rng(0)
images = rng.normal(size=(EXAMPLES, 8)).astype("float32")
labels = rng.integers(0, 3, EXAMPLES)
train_dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(GLOBAL_BATCH_SIZE)
test_dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(2 * GLOBAL_BATCH_SIZE)
train_dist_dataset = strategy.experimental_distribute_dataset(train_dataset)
test_dist_dataset = strategy.experimental_distribute_dataset(test_dataset)

with strategy.scope():
    model = keras.Sequential(
        [keras.Input((8,)), keras.layers.Dense(4, "relu"), keras.layers.Dense(3)]
    )
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)
    loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction=None)
    test_accuracy = keras.metrics.SparseCategoricalAccuracy()


def compute_loss(labels, predictions):
    return tf.nn.compute_average_loss(
        loss_object(labels, predictions), global_batch_size=GLOBAL_BATCH_SIZE
    )


def train_step(inputs):
    images, labels = inputs
    with tf.GradientTape() as tape:
        loss = compute_loss(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def test_step(inputs):
    images, labels = inputs
    test_accuracy.update_state(labels, model(images, training=False))


@tf.function
def distributed_train_step(dataset_inputs):
    per_replica_losses = strategy.run(train_step, args=(dataset_inputs,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)


@tf.function
def distributed_test_step(dataset_inputs):
    return strategy.run(test_step, args=(dataset_inputs,))


for epoch in range(EPOCHS):
    total_loss = 0.0
    num_batches = 0
    for x in train_dist_dataset:
        total_loss += distributed_train_step(x)
        num_batches += 1
    for x in test_dist_dataset:
        distributed_test_step(x)
    print(f"Epoch {epoch + 1}, loss {float(total_loss / num_batches):.6f}")
    test_accuracy.reset_state()

np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
