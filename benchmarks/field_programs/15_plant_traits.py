"""Leaf traits from spectra with a curriculum: each specimen's last error decides its weight."""
import time

import numpy as np
import tensorflow as tf
import keras

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration() for _ in range(2)])

BANDS = 160
SPECIMENS = 16000
GLOBAL_BATCH = 1024
STEPS = 170


def spectra(seed=29):
    rng = np.random.default_rng(seed)
    trait = rng.uniform(0, 1, size=(SPECIMENS, 1)).astype("float32")
    wave = np.linspace(0, 4, BANDS, dtype="float32")[None, :]
    curve = np.sin(wave * (1 + trait)) + 0.1 * rng.standard_normal((SPECIMENS, BANDS))
    return np.arange(SPECIMENS, dtype="int64"), curve.astype("float32"), trait


class Curriculum:
    def __init__(self, n):
        self.last_error = np.ones(n, "float32")

    def update(self, ids, errors):
        for i in range(len(ids)):
            self.last_error[int(ids[i])] = float(errors[i])

    def mean_weight(self):
        return float(1.0 / (1.0 + self.last_error.mean()))


def trait_net():
    return keras.Sequential([
        keras.Input((BANDS,)),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(1)])


def main():
    keras.utils.set_random_seed(16)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    ds = tf.data.Dataset.from_tensor_slices(spectra()).shuffle(SPECIMENS, seed=1).repeat()
    ds = ds.batch(GLOBAL_BATCH, drop_remainder=True).prefetch(4)
    batches = iter(strategy.experimental_distribute_dataset(ds))
    with strategy.scope():
        net = trait_net()
        opt = keras.optimizers.Adam(1e-3)
        opt.build(net.trainable_variables)

    def replica_fn(ids, curve, trait, weight):
        with tf.GradientTape() as tape:
            per_example = tf.square(net(curve, training=True) - trait)[:, 0]
            loss = weight * tf.reduce_sum(per_example) / GLOBAL_BATCH
        grads = tape.gradient(loss, net.trainable_variables)
        opt.apply_gradients(zip(grads, net.trainable_variables))
        return ids, per_example

    @tf.function
    def train_step(ids, curve, trait, weight):
        return strategy.run(replica_fn, args=(ids, curve, trait, weight))

    plan = Curriculum(SPECIMENS)
    train_step(*next(batches), tf.constant(1.0))
    t0 = time.perf_counter()
    for step in range(1, STEPS + 1):
        ids, errors = train_step(*next(batches), tf.constant(plan.mean_weight()))
        for part_ids, part_errors in zip(strategy.experimental_local_results(ids),
                                         strategy.experimental_local_results(errors)):
            plan.update(part_ids, part_errors)
        if step % 50 == 0:
            print("step %d error %.4f" % (step, plan.last_error.mean()))
    print("loop %.2f s" % (time.perf_counter() - t0))


if __name__ == "__main__":
    main()
