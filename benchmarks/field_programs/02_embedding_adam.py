# source: tensorflow#32104, tensorflow#6460 (a large input_dim makes training slow; Adam's sparse update touches the whole table)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(64)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

IDS, WIDTH, BATCH = 200_000, 16, 64
rng = np.random.default_rng(64)
ids = rng.integers(0, IDS, size=(BATCH * 10, 12)).astype("int32")
clicked = (ids[:, :1] % 2).astype("float32")

with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((12,), dtype="int32"),
        tf.keras.layers.Embedding(IDS, WIDTH, name="ids"),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    model.compile(
        optimizer=tf.keras.optimizers.Adam(0.01),
        loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
        jit_compile=False,
    )

data = tf.data.Dataset.from_tensor_slices((ids, clicked)).batch(BATCH).cache().prefetch(2)
history = model.fit(data, epochs=10, verbose=2)
print("RESULT %.6f" % history.history["loss"][-1])
