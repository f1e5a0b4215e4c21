# source: theislab/batchglm#109 (float64 as default dtype is overkill), tensorflow#15038 (float32 is generally much faster)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(64)
tf.keras.backend.set_floatx("float64")

rng = np.random.default_rng(64)
x = rng.normal(size=(4096, 512))
y = np.sign(x[:, :1]) * x[:, 1:2]

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((512,)),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1024, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    model.compile(tf.keras.optimizers.SGD(0.01), loss="mse")

history = model.fit(x, y, batch_size=512, epochs=4, verbose=2)
print("RESULT %.6f" % history.history["loss"][-1])
