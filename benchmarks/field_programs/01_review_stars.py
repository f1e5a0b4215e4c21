"""Star rating regressor for product reviews (bag of embeddings), two replicas."""
import time

import numpy as np
import tensorflow as tf
import keras

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration() for _ in range(2)])

VOCAB = 8000
SEQ_LEN = 64
BATCH = 128
N_REVIEWS = 11000


def make_reviews(n, seed=3):
    """Made-up reviews: word frequencies follow a power law."""
    rng = np.random.default_rng(seed)
    words = np.array(["w%05d" % i for i in range(12000)])
    lengths = rng.integers(20, SEQ_LEN, size=n)
    ids = np.minimum(rng.zipf(1.2, size=(n, SEQ_LEN)), 12000) - 1
    texts = [" ".join(words[row[:k]]) for row, k in zip(ids, lengths)]
    stars = rng.integers(1, 6, size=n).astype("float32")
    return texts, stars


def build_vectorizer(texts):
    vectorizer = keras.layers.TextVectorization(
        max_tokens=VOCAB, output_sequence_length=SEQ_LEN)
    corpus = tf.data.Dataset.from_tensor_slices(texts).map(
        lambda t: tf.strings.regex_replace(t, "<br />", " "))
    vectorizer.adapt(corpus)
    return vectorizer


def make_dataset(texts, stars, vectorizer):
    ds = tf.data.Dataset.from_tensor_slices((texts, stars))
    ds = ds.shuffle(4096, seed=1).batch(BATCH, drop_remainder=True)
    ds = ds.map(lambda t, s: (vectorizer(t), s), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.prefetch(tf.data.AUTOTUNE)


def build_model():
    inputs = keras.Input((SEQ_LEN,), dtype="int64")
    x = keras.layers.Embedding(VOCAB, 32)(inputs)
    x = keras.layers.Conv1D(64, 5, padding="same", activation="relu")(x)
    x = keras.layers.GlobalMaxPooling1D()(x)
    x = keras.layers.Dense(64, activation="relu")(x)
    outputs = keras.layers.Dense(1)(x)
    return keras.Model(inputs, outputs)


def main():
    keras.utils.set_random_seed(7)
    start = time.perf_counter()
    texts, stars = make_reviews(N_REVIEWS)
    vectorizer = build_vectorizer(texts)
    train_ds = make_dataset(texts, stars, vectorizer)

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = build_model()
        model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
    history = model.fit(train_ds, epochs=1, verbose=2)
    print("loss", [round(v, 4) for v in history.history["loss"]])
    print("total %.2f s" % (time.perf_counter() - start))


if __name__ == "__main__":
    main()
