# source: tensorflow#33030 / keras#13118 (model.predict called again and again during training)
import numpy as np
import tensorflow as tf

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpus[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(30)


class WatchProbe(tf.keras.callbacks.Callback):
    """Keeps what the model says about a few fixed inputs."""

    def __init__(self, probe):
        super().__init__()
        self.probe = probe
        self.trace = []

    def on_train_batch_end(self, batch, logs=None):
        answer = self.model.predict(self.probe, verbose=0)
        self.trace.append(answer[:, 0].mean())


rng = np.random.default_rng(8)
x = rng.normal(size=(2048, 24)).astype("float32")
y = np.sin(x[:, :1]) + x[:, 1:2]

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((24,)),
        tf.keras.layers.Dense(128, activation="tanh"),
        tf.keras.layers.Dense(128, activation="tanh"),
        tf.keras.layers.Dense(1),
    ])
    model.compile("adam", "mse")

watch = WatchProbe(x[:64])
model.fit(x, y, batch_size=128, epochs=3, callbacks=[watch], verbose=2)
print("RESULT %.6f" % watch.trace[-1])
