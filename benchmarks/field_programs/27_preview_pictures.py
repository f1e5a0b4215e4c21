"""Colouring of grey landscape pictures on two replicas, with previews in the event file."""
import tempfile
import time

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration() for _ in range(2)])

SIDE = 128
BATCH = 16
STEPS = 200


def make_landscapes(count=64, seed=25):
    rng = np.random.default_rng(seed)
    rows = np.linspace(0.0, 1.0, SIDE)[None, :, None, None]
    sky = rng.uniform(0.3, 0.7, (count, 1, 1, 1))
    colour = np.where(rows < sky, [0.4, 0.6, 0.9], [0.3, 0.7, 0.2])
    colour = colour * rng.uniform(0.7, 1.0, (count, SIDE, SIDE, 1))
    colour = np.clip(colour + rng.normal(0, 0.04, colour.shape), 0, 1).astype("float32")
    return colour.mean(axis=-1, keepdims=True), colour


def fixed_options(dataset):
    """Keeps buffer sizes as they are written here."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def build():
    inputs = tf.keras.Input((SIDE, SIDE, 1))
    x = tf.keras.layers.Conv2D(8, 5, strides=2, padding="same", activation="relu")(inputs)
    x = tf.keras.layers.Conv2D(12, 3, padding="same", activation="relu")(x)
    x = tf.keras.layers.Conv2DTranspose(3, 4, strides=2, padding="same")(x)
    return tf.keras.Model(inputs, tf.keras.layers.Activation("sigmoid")(x))


class Colouring:
    def __init__(self, strategy, folder):
        self.strategy = strategy
        self.writer = tf.summary.create_file_writer(folder)
        with strategy.scope():
            self.model = build()
            self.optimizer = tf.keras.optimizers.Adam(2e-3)
            self.optimizer.build(self.model.trainable_variables)

    def replica_step(self, grey, colour):
        with tf.GradientTape() as tape:
            guess = self.model(grey, training=True)
            loss = tf.reduce_sum(tf.reduce_mean(tf.abs(guess - colour), (1, 2, 3))) / BATCH
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss, tf.concat([colour, guess], axis=2)

    def previews(self, pairs):
        as_bytes = tf.image.convert_image_dtype(pairs, tf.uint8, saturate=True)
        encode = lambda picture: tf.io.encode_png(picture, compression=6)
        return tf.map_fn(encode, as_bytes, fn_output_signature=tf.string)

    @tf.function
    def step(self, batch, number):
        losses, pairs = self.strategy.run(self.replica_step, args=batch)
        loss = self.strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)
        shown = self.strategy.experimental_local_results(pairs)[0]
        with self.writer.as_default():
            tf.summary.write("loss", loss, step=number)
            tf.summary.write("previews", self.previews(shown), step=number)
        return loss


def main():
    tf.keras.utils.set_random_seed(25)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    dataset = fixed_options(
        tf.data.Dataset.from_tensor_slices(make_landscapes()).batch(BATCH).repeat().prefetch(2))
    batches = iter(strategy.experimental_distribute_dataset(dataset))
    colouring = Colouring(strategy, tempfile.mkdtemp())
    begin = time.perf_counter()
    for number in range(STEPS):
        loss = colouring.step(next(batches), tf.constant(number, tf.int64))
        if number % 20 == 0:
            print(f"step {number}: loss {float(loss):.4f}")
    print(f"training took {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
