# source: tensorflow#39270 / tensorflow#33809 threads (slower with MirroredStrategy): host arrays handed straight to strategy.run
import numpy as np
import tensorflow as tf

N = 4
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * N)
tf.keras.utils.set_random_seed(33)
strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(N)])

GLOBAL_BATCH = 2048
STEPS = 50
rng = np.random.default_rng(33)
x = rng.normal(size=(GLOBAL_BATCH * 10, 256)).astype("float32")
y = np.maximum(x[:, :1], x[:, 1:2])

with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((256,)),
        tf.keras.layers.Dense(384, activation="relu", name="wide"),
        tf.keras.layers.Dense(384, activation="relu", name="wide_again"),
        tf.keras.layers.Dense(1, name="out"),
    ])
    optimizer = tf.keras.optimizers.SGD(0.05)
    optimizer.build(model.trainable_variables)


def replica_fn(x, y):
    with tf.GradientTape() as tape:
        error = tf.square(model(x, training=True) - y)
        loss = tf.reduce_sum(error) / GLOBAL_BATCH / N
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


@tf.function
def train_step(x, y):
    return strategy.reduce("SUM", strategy.run(replica_fn, args=(x, y)), axis=None)


for step in range(STEPS):
    at = step % 10 * GLOBAL_BATCH
    loss = train_step(
        tf.constant(x[at:at + GLOBAL_BATCH]),
        tf.constant(y[at:at + GLOBAL_BATCH]),
    )
    if step % 20 == 19:
        print("step", step + 1, "loss", float(loss))
print("RESULT %.6f" % float(loss))
