"""Trains a tower and keeps the features of the whole epoch for a later k-NN check."""
import time

import numpy as np
import tensorflow as tf
import keras

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration() for _ in range(2)])

INPUTS = 64
FEATURES = 512
GLOBAL_BATCH = 256
STEPS = 850


def make_data(seed=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(8192, INPUTS)).astype("float32")
    y = (x[:, :5].sum(axis=1) > 0).astype("int32")
    return x, y


def build_tower():
    inputs = keras.Input((INPUTS,))
    features = keras.layers.Dense(FEATURES, activation="relu")(inputs)
    logits = keras.layers.Dense(2)(features)
    return keras.Model(inputs, [features, logits])


class FeatureStore:
    """Features and labels of all batches seen so far."""

    def __init__(self):
        self.features = tf.zeros((0, FEATURES))
        self.labels = tf.zeros((0,), tf.int32)

    def add(self, features, labels):
        self.features = tf.concat([self.features] + list(features), axis=0)
        self.labels = tf.concat([self.labels] + list(labels), axis=0)

    def neighbour_accuracy(self, n=64):
        queries, bank = self.features[-n:], self.features[:-n]
        nearest = tf.argmax(tf.matmul(queries, bank, transpose_b=True), axis=1)
        same = tf.equal(tf.gather(self.labels, nearest), self.labels[-n:])
        return float(tf.reduce_mean(tf.cast(same, tf.float32)))


def main():
    keras.utils.set_random_seed(8)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    ds = tf.data.Dataset.from_tensor_slices(make_data()).shuffle(8192, seed=1)
    ds = ds.batch(GLOBAL_BATCH, drop_remainder=True).repeat().prefetch(2)
    batches = iter(strategy.experimental_distribute_dataset(ds))
    with strategy.scope():
        model = build_tower()
        optimizer = keras.optimizers.SGD(0.05)
        optimizer.build(model.trainable_variables)

    def step_fn(x, y):
        with tf.GradientTape() as tape:
            features, logits = model(x, training=True)
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            loss = tf.reduce_sum(ce) / GLOBAL_BATCH
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss, features, y

    @tf.function
    def train_step(iterator):
        loss, features, labels = strategy.run(step_fn, args=next(iterator))
        loss = strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None)
        return (loss, strategy.experimental_local_results(features),
                strategy.experimental_local_results(labels))

    store = FeatureStore()
    train_step(batches)
    start = time.perf_counter()
    for step in range(1, STEPS + 1):
        loss, features, labels = train_step(batches)
        store.add(features, labels)
        if step % 100 == 0:
            print("step %d loss %.4f" % (step, float(loss)))
    print("loop %.2f s" % (time.perf_counter() - start))
    print("k-NN accuracy %.3f" % store.neighbour_accuracy())


if __name__ == "__main__":
    main()
