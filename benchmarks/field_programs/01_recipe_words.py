"""Cuisine of a recipe from frozen ingredient vectors; the vector table is not trained."""
import numpy as np
import tensorflow as tf
import keras

VOCAB, DIM = 300_000, 96
CUISINES = 9
BATCH, WORDS = 64, 30


class IngredientVectors:
    """Frozen vectors, as they come out of the text file."""

    def __init__(self, vocab, dim, seed=3):
        rng = np.random.default_rng(seed)
        self.table = rng.standard_normal((vocab, dim), dtype="float32")

    def __call__(self, ids):
        return tf.nn.embedding_lookup(self.table, ids)


def recipes(n, seed=4):
    rng = np.random.default_rng(seed)
    cuisine = rng.integers(0, CUISINES, n)
    ids = rng.integers(0, VOCAB, (n, WORDS))
    ids[:, :6] = cuisine[:, None] * 50 + rng.integers(0, 50, (n, 6))
    return ids.astype("int32"), cuisine.astype("int32")


class Trainer:
    def __init__(self, vectors):
        self.vectors = vectors
        self.net = keras.Sequential([
            keras.Input((WORDS, DIM)),
            keras.layers.Conv1D(64, 3, activation="relu"),
            keras.layers.GlobalMaxPooling1D(),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(CUISINES)])
        self.opt = keras.optimizers.Adam(1e-3)
        self.loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.mean = keras.metrics.Mean()

    @tf.function
    def update(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss_fn(y, self.net(x, training=True))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        self.mean.update_state(loss)

    def epoch(self, ds):
        self.mean.reset_state()
        for ids, y in ds:
            self.update(self.vectors(ids), y)
        return float(self.mean.result())


def main():
    keras.utils.set_random_seed(11)
    ids, cuisine = recipes(6400)
    ds = tf.data.Dataset.from_tensor_slices((ids, cuisine))
    ds = ds.shuffle(6400, seed=1).batch(BATCH, drop_remainder=True).prefetch(2)
    trainer = Trainer(IngredientVectors(VOCAB, DIM))
    for epoch in range(5):
        print("epoch", epoch, "loss %.4f" % trainer.epoch(ds))


if __name__ == "__main__":
    main()
