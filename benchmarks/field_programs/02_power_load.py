"""Next-hour electric load from the last 48 hours of readings, custom loop."""
import time

import numpy as np
import tensorflow as tf
import keras

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration() for _ in range(2)])

WINDOW = 48
FEATURES = 4
GLOBAL_BATCH = 256
STEPS = 120


def read_meters(hours=520000, seed=11):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)[:, None]
    periods = rng.uniform(12, 400, size=(1, FEATURES))
    base = np.sin(2 * np.pi * t / periods) + 0.1 * rng.normal(size=(hours, FEATURES))
    return base.astype("float32")


def make_windows(series):
    """One row per hour: the standardized window and the next load value."""
    xs, ys = [], []
    for i in range(len(series) - WINDOW):
        window = series[i:i + WINDOW]
        mean = window.mean(axis=0)
        std = window.std(axis=0) + 1e-6
        xs.append((window - mean) / std)
        ys.append((series[i + WINDOW, 0] - mean[0]) / std[0])
    return np.array(xs, dtype="float32"), np.array(ys, dtype="float32")


def build_model():
    return keras.Sequential([
        keras.Input((WINDOW, FEATURES)),
        keras.layers.Flatten(),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(128, activation="relu"),
        keras.layers.Dense(1)])


def main():
    keras.utils.set_random_seed(5)
    start = time.perf_counter()
    series = read_meters()
    x, y = make_windows(series)
    print("windows", x.shape)

    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(8192, seed=2)
    ds = ds.batch(GLOBAL_BATCH, drop_remainder=True).repeat().prefetch(4)
    batches = iter(strategy.experimental_distribute_dataset(ds))
    with strategy.scope():
        model = build_model()
        optimizer = keras.optimizers.SGD(1e-2, momentum=0.9)
        optimizer.build(model.trainable_variables)

    def step_fn(xb, yb):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(model(xb)[:, 0] - yb)) / GLOBAL_BATCH
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    @tf.function
    def train_step(iterator):
        xb, yb = next(iterator)
        losses = strategy.run(step_fn, args=(xb, yb))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    for step in range(STEPS):
        loss = train_step(batches)
        if step % 40 == 39:
            print("step %d loss %.4f" % (step + 1, float(loss)))
    print("total %.2f s" % (time.perf_counter() - start))


if __name__ == "__main__":
    main()
