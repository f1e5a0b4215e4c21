"""Keras's `fit` with the TensorBoard callback, which profiles batches 3 to 5."""

import glob
import sys

import keras
import numpy as np

keras.utils.set_random_seed(7)
images = np.random.default_rng(0).normal(size=(160, 8)).astype("float32")


class ProfilerCallback(keras.callbacks.TensorBoard):
    """Without scalars, which need the package TensorBoard."""

    def on_train_batch_end(self, batch, logs=None):  # noqa: ARG002
        super().on_train_batch_end(batch)

    def on_epoch_end(self, epoch, logs=None):
        pass


model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
model.compile(loss="mse", optimizer="sgd")
board = ProfilerCallback("logs", profile_batch=(3, 5))
model.fit(images, images[:, :3], batch_size=16, epochs=1, verbose=0, callbacks=[board])
print(len(glob.glob("logs/train/plugins/profile/*/*.xplane.pb")), "profile")
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
