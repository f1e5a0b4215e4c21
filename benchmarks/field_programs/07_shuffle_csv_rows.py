# source: tensorflow#30646, tensorflow#47090 (the shuffle buffer is filled again before every epoch)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration() for _ in range(2)])
tf.keras.utils.set_random_seed(7)

COLUMNS = 20
ROWS = 9000


def make_rows():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(ROWS, COLUMNS + 1)).round(4)
    values[:, -1] = values[:, :4].sum(1)
    return [",".join(map(str, row)) for row in values]


def parse(row):
    fields = tf.io.decode_csv(row, [0.0] * (COLUMNS + 1))
    return tf.stack(fields[:-1]), fields[-1]


rows = (
    tf.data.Dataset.from_tensor_slices(make_rows())
    .map(parse)
    .shuffle(ROWS, seed=11)
    .batch(256)
    .prefetch(2)
)

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((COLUMNS,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    model.compile(tf.keras.optimizers.SGD(0.01), "mse")

log = model.fit(rows, epochs=10, verbose=2)
print("RESULT %.6f" % log.history["loss"][-1])
