# source: tensorflow#42120, tensorflow#27692 (iterating over a tensor in Python is extremely slow, .numpy() first is instantaneous)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(61)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

BATCH = 1024
rng = np.random.default_rng(2)
x_data = rng.normal(size=(BATCH * 25, 32)).astype("float32")
y_data = np.abs(x_data[:, :1] * x_data[:, 1:2])
source = tf.data.Dataset.from_tensor_slices((x_data, y_data)).batch(BATCH).cache().prefetch(2)

with strategy.scope():
    layers = [tf.keras.layers.Dense(96, "relu"), tf.keras.layers.Dense(96, "relu"), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential([tf.keras.Input((32,)), *layers])
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)


@tf.function
def train(x, y):
    def fn(x, y):
        with tf.GradientTape() as tape:
            each = tf.reduce_sum(tf.square(model(x, training=True) - y), axis=1)
            loss = tf.reduce_sum(each) / BATCH
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return each
    return strategy.gather(strategy.run(fn, args=(x, y)), axis=0)


feed = iter(strategy.experimental_distribute_dataset(source.repeat(2)))
hardest, seen, total = 0.0, 0, 0.0
for x, y in feed:
    each = train(x, y)
    for value in each:
        total += float(value)
        hardest = max(hardest, float(value))
        seen += 1
print("mean", total / seen, "hardest", hardest)
print("RESULT %.6f" % (total / seen))
