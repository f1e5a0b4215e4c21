# source: tensorflow#33030, tensorflow#33009 threads (gc.collect() and clear_session() after each step against growing memory)
import gc

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(330)

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
BATCH, STEPS = 128, 70

with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((80,)),
        tf.keras.layers.Dense(512, activation="relu"),
        tf.keras.layers.Dense(512, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

rng = np.random.default_rng(330)
x = rng.normal(size=(BATCH * STEPS, 80)).astype("float32")
y = np.cos(x[:, :1])
feed = iter(strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).prefetch(2)))


@tf.function
def step(x, y):
    def fn(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(model(x, training=True) - y)) / BATCH
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss
    return strategy.reduce("SUM", strategy.run(fn, args=(x, y)), axis=None)


curve = []
for bx, by in feed:
    loss = step(bx, by)
    curve.append(float(loss))
    del bx, by, loss
    gc.collect()
print("first %.4f last %.4f" % (curve[0], curve[-1]))
print("RESULT %.6f" % curve[-1])
