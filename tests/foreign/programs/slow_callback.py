"""`fit` of a model with a `train_step` of its own, and a callback that writes down every weight."""

import sys

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(7)
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
images = np.random.default_rng(0).normal(size=(960, 8)).astype("float32")


class CustomModel(keras.Sequential):
    def train_step(self, data):
        inputs, targets = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=targets, y_pred=self(inputs, training=True))
        gradients = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply(gradients, self.trainable_weights)
        return {"loss": loss}


class WeightLog(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):  # noqa: ARG002
        for number, weight in enumerate(self.model.get_weights()):
            np.savetxt(f"{sys.argv[1]}-weights-{number}.txt", weight)


with strategy.scope():
    model = CustomModel(
        [keras.Input((8,)), keras.layers.Dense(2048, "relu"), keras.layers.Dense(3)]
    )
    model.compile(loss="mse", optimizer="sgd")
model.fit(images, images[:, :3], batch_size=16, verbose=0, callbacks=[WeightLog()])
np.save(sys.argv[1], np.concatenate([weight.ravel() for weight in model.get_weights()]))
print(f"{np.abs(np.load(sys.argv[1])).sum():.6f}")
