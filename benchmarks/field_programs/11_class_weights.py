"""Classifies small PNG sketches; rare classes get a larger weight in the loss."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tempfile

import numpy as np
import tensorflow as tf

CLASSES, IMAGES, SIDE, BATCH, EPOCHS = 20, 900, 72, 32, 3


class Sketches:
    """Writes one PNG per image and a list of (path, label)."""

    def __init__(self, folder, seed=6):
        rng = np.random.default_rng(seed)
        share = rng.dirichlet(np.full(CLASSES, 2.0))
        self.paths, self.labels = [], []
        canvas = rng.random((CLASSES, SIDE, SIDE))
        for i in range(IMAGES):
            label = int(rng.choice(CLASSES, p=share))
            image = 170 * canvas[label] + 80 * rng.random((SIDE, SIDE))
            path = os.path.join(folder, f"{i:05d}.png")
            data = tf.io.encode_png(np.repeat(image[..., None], 3, -1).astype("uint8"))
            tf.io.write_file(path, data)
            self.paths.append(path)
            self.labels.append(label)


def load(path, label):
    image = tf.io.decode_png(tf.io.read_file(path), 3)
    image = tf.image.resize(image, (32, 32), antialias=True)
    image = tf.image.rgb_to_grayscale(image)
    return tf.image.per_image_standardization(image), label


def pipeline(sketches):
    files = tf.data.Dataset.from_tensor_slices((sketches.paths, sketches.labels))
    return files.map(load, num_parallel_calls=2)


def class_weights(sketches):
    """Inverse frequency of each class, with mean 1 over the images."""
    examples = pipeline(sketches)
    counts = []
    for c in range(CLASSES):
        mine = examples.filter(lambda _, label: tf.equal(label, c))
        counts.append(int(mine.reduce(0, lambda n, _: n + 1)))
    return {c: IMAGES / (CLASSES * max(n, 1)) for c, n in enumerate(counts)}


def build():
    model = tf.keras.Sequential([
        tf.keras.Input((32, 32, 1)),
        tf.keras.layers.Conv2D(12, 5, 2, activation="relu"),
        tf.keras.layers.Conv2D(24, 3, 2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(CLASSES),
    ])
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(2e-3), loss, metrics=["accuracy"])
    return model


class Brief(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch}: loss {logs['loss']:.3f} accuracy {logs['accuracy']:.3f}")


def main():
    tf.keras.utils.set_random_seed(6)
    with tempfile.TemporaryDirectory() as folder:
        sketches = Sketches(folder)
        weights = class_weights(sketches)
        print("largest class weight", round(max(weights.values()), 2))
        train = pipeline(sketches).cache().shuffle(IMAGES, seed=6).batch(BATCH).prefetch(2)
        build().fit(train, epochs=EPOCHS, class_weight=weights, callbacks=[Brief()], verbose=0)


if __name__ == "__main__":
    main()
