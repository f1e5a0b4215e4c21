# source: tensorflow#32172 (VGG with MirroredStrategy, devices at 100 %), a healthy picture model with nothing to repair around it
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(321)
BATCH = 8

rng = np.random.default_rng(321)
pictures = rng.random((64, 112, 112, 3), dtype=np.float32)
labels = (pictures[:, :56].mean((1, 2, 3)) > pictures[:, 56:].mean((1, 2, 3))).astype("int64")
dataset = (
    tf.data.Dataset.from_tensor_slices((pictures, labels))
    .batch(BATCH, drop_remainder=True)
    .cache()
    .prefetch(tf.data.AUTOTUNE)
)


def block(x, filters, name):
    for part in "ab":
        x = tf.keras.layers.Conv2D(filters, 3, padding="same", activation="relu", name=f"{name}{part}")(x)
    return tf.keras.layers.MaxPooling2D(name=f"{name}_pool")(x)


with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    inputs = tf.keras.Input((112, 112, 3))
    x = block(inputs, 32, "block1")
    x = block(x, 48, "block2")
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(2, name="classes")(x))
    model.compile(
        optimizer=tf.keras.optimizers.SGD(0.05),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )

history = model.fit(dataset, epochs=4, verbose=2)
print("RESULT %.6f" % history.history["loss"][-1])
