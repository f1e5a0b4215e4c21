# source: tensorflow#49730 (the first epoch takes 80 s and the next 20 s), tensorflow.org/guide/function (Python loops are unrolled while tracing)
import numpy as np
import tensorflow as tf

N = 3
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * N)
tf.keras.utils.set_random_seed(49)
strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(N)])

LENGTH, WIDTH, BATCH, STEPS = 100, 24, 48, 60
rng = np.random.default_rng(49)
signal = rng.normal(size=(BATCH * STEPS, LENGTH, 4)).astype("float32")
total = np.tanh(signal.sum((1, 2), keepdims=False))[:, None].astype("float32")
feed = iter(strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((signal, total)).batch(BATCH).prefetch(2)))

with strategy.scope():
    w_x = tf.Variable(tf.random.normal((4, 2 * WIDTH), stddev=0.2, seed=1))
    w_h = tf.Variable(tf.random.normal((WIDTH, 2 * WIDTH), stddev=0.2, seed=2))
    w_o = tf.Variable(tf.random.normal((WIDTH, 1), stddev=0.2, seed=3))


def recurrence(x):
    h = tf.zeros((BATCH // N, WIDTH))
    for t in range(LENGTH):
        gate, new = tf.split(x[:, t] @ w_x + h @ w_h, 2, axis=1)
        gate = tf.sigmoid(gate)
        h = gate * h + (1.0 - gate) * tf.tanh(new)
    return h @ w_o


def replica(x, y):
    weights = [w_x, w_h, w_o]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(recurrence(x) - y)) / BATCH
    grads = tf.distribute.get_replica_context().all_reduce("sum", tape.gradient(loss, weights))
    for w, g in zip(weights, grads):
        w.assign_sub(0.1 * g)
    return loss


@tf.function
def train_step(x, y):
    return strategy.reduce("SUM", strategy.run(replica, args=(x, y)), axis=None)


for number, (x, y) in enumerate(feed):
    loss = train_step(x, y)
    if number % 20 == 0:
        print("step", number, "loss", float(loss), flush=True)
print("RESULT %.6f" % float(loss))
