# source: keras-team/keras#18854 (steps per epoch take really long in Keras 3), keras-team/keras#7168
import math

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(188)


class Spectrograms(tf.keras.utils.PyDataset):
    """Signals kept as integers; a batch is turned into pictures when asked for."""

    def __init__(self, signals, labels, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.signals, self.labels, self.batch_size = signals, labels, batch_size

    def __len__(self):
        return math.ceil(len(self.signals) / self.batch_size)

    def __getitem__(self, index):
        part = slice(index * self.batch_size, (index + 1) * self.batch_size)
        pictures = [self.picture(s) for s in self.signals[part]]
        return np.stack(pictures), self.labels[part]

    @staticmethod
    def picture(signal):
        frames = np.lib.stride_tricks.sliding_window_view(signal / 32768.0, 256)[::64]
        power = np.abs(np.fft.fft(frames * np.hamming(256), axis=1))[:, :128] ** 2
        table = 10 * np.log10(power + 1e-9)
        order = np.sort(table, axis=None)
        return np.clip((table - order[len(order) // 20]) / 60, -1, 1).astype("float32")[..., None]


rng = np.random.default_rng(188)
signals = rng.integers(-20000, 20000, size=(512, 6400)).astype("int16")
labels = rng.integers(0, 3, 512)
signals[labels == 1] //= 3
train = Spectrograms(signals, labels, 32)

model = tf.keras.Sequential([
    tf.keras.Input((97, 128, 1)),
    tf.keras.layers.AveragePooling2D(4),
    tf.keras.layers.Conv2D(8, 3, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(3),
])
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(train, epochs=9, shuffle=False, verbose=2)
print("RESULT %.6f" % history.history["loss"][-1])
