# source: keras-team/keras#6101 (validation takes longer than the training part of the epoch)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(61)


def table(rows, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 128)).astype("float32")
    return x, np.tanh(x[:, :1] * 2)


x_train, y_train = table(1920, 1)
x_val, y_val = table(16000, 2)

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((128,))])
    for units in (512, 512, 256):
        model.add(tf.keras.layers.Dense(units, activation="relu"))
    model.add(tf.keras.layers.Dense(1))
    model.compile(optimizer="adam", loss="mae", metrics=["mse"])

history = model.fit(
    x_train,
    y_train,
    batch_size=64,
    epochs=5,
    validation_data=(x_val, y_val),
    verbose=2,
)
print("RESULT %.6f" % history.history["val_loss"][-1])
