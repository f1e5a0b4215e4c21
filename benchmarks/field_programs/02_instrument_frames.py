"""Which instrument plays? Log-spectrum frames of made-up notes, small dense classifier."""
import time

import numpy as np
import tensorflow as tf
import keras

RATE = 8000
NOTE_SECONDS = 1.0
FRAME = 512
HOP = 256
N_NOTES = 460
FAMILIES = 8


def play_note(rng, family):
    t = np.arange(int(RATE * NOTE_SECONDS)) / RATE
    pitch = rng.uniform(110, 660)
    wave = np.zeros_like(t)
    for h in range(1, 7):
        wave += np.exp(-h * (family + 1) / 9.0) * np.sin(2 * np.pi * h * pitch * t)
    return (wave + 0.05 * rng.standard_normal(len(t))).astype("float32")


def frames_of(wave):
    count = 1 + (len(wave) - FRAME) // HOP
    window = np.hanning(FRAME).astype("float32")
    cut = np.stack([wave[i * HOP:i * HOP + FRAME] * window for i in range(count)])
    return np.log1p(np.abs(np.fft.rfft(cut, axis=1))).astype("float32")


def collect(n_notes, seed=2):
    """All frames of all notes in one table, with their instrument family."""
    rng = np.random.default_rng(seed)
    table = np.empty((0, FRAME // 2 + 1), "float32")
    families = np.empty((0,), "int32")
    for _ in range(n_notes):
        family = int(rng.integers(FAMILIES))
        for row in frames_of(play_note(rng, family)):
            table = np.append(table, row[None, :], axis=0)
            families = np.append(families, np.int32(family))
    return table, families


def build_classifier():
    model = keras.Sequential([
        keras.Input((FRAME // 2 + 1,)),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dropout(0.2),
        keras.layers.Dense(128, activation="relu"),
        keras.layers.Dense(FAMILIES)])
    model.compile(optimizer=keras.optimizers.Adam(1e-3),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    return model


def pipeline(table, families):
    ds = tf.data.Dataset.from_tensor_slices((table, families))
    return ds.shuffle(len(table), seed=3).batch(128).prefetch(tf.data.AUTOTUNE)


def main():
    start = time.perf_counter()
    keras.utils.set_random_seed(1)
    table, families = collect(N_NOTES)
    print("frames", table.shape)
    model = build_classifier()
    hist = model.fit(pipeline(table, families), epochs=4, verbose=2)
    print("accuracy %.3f" % hist.history["accuracy"][-1])
    print("loop %.2f s" % (time.perf_counter() - start))


if __name__ == "__main__":
    main()
