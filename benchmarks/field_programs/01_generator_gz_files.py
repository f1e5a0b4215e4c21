# source: tensorflow#39494 (from_generator over pickled gzip files, low device use with MirroredStrategy)
import gzip
import os
import pickle
import tempfile

import numpy as np
import tensorflow as tf

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(39)

FOLDER = tempfile.mkdtemp()
FILES = 24
WIDTH = 56


def write_files():
    rng = np.random.default_rng(1)
    for i in range(FILES):
        table = rng.standard_normal((5000, WIDTH))
        with gzip.open(os.path.join(FOLDER, f"part-{i:03d}.pkl.gz"), "wb", compresslevel=1) as f:
            pickle.dump(table, f)


def tables():
    for name in sorted(os.listdir(FOLDER)):
        with gzip.open(os.path.join(FOLDER, name), "rb") as f:
            table = pickle.load(f)
        table = (table - table.mean(0)) / table.std(0)
        yield table.astype("float32"), table.astype("float32")


write_files()
signature = tf.TensorSpec((None, WIDTH), tf.float32)
data = tf.data.Dataset.from_generator(tables, output_signature=(signature, signature))
data = data.prefetch(tf.data.AUTOTUNE)

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((WIDTH,)),
        tf.keras.layers.Dense(24, activation="relu"),
        tf.keras.layers.Dense(WIDTH),
    ])
    model.compile(optimizer="adam", loss="mse")

history = model.fit(data, epochs=10, verbose=2)
print("RESULT %.6f" % history.history["loss"][-1])
