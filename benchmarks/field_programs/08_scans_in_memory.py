"""Small CNN on gray scans kept in memory; every step picks random rows. Two replicas."""
import time

import numpy as np
import tensorflow as tf
import keras

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration() for _ in range(2)])

N_SCANS = 60000
SIDE = 40
GLOBAL_BATCH = 64
STEPS = 180


def load_scans(seed=21):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, size=N_SCANS).astype("int32")
    scans = rng.random((N_SCANS, SIDE, SIDE, 1), dtype="float32")
    scans[:, :4, :4, 0] += labels[:, None, None] / 10.0
    return scans, labels


def build_model():
    return keras.Sequential([
        keras.Input((SIDE, SIDE, 1)),
        keras.layers.Conv2D(8, 5, strides=2, activation="relu"),
        keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(10)])


class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy
        with strategy.scope():
            self.model = build_model()
            self.optimizer = keras.optimizers.SGD(0.02)

    def replica_step(self, scans, labels, rows):
        half = GLOBAL_BATCH // 2
        ctx = tf.distribute.get_replica_context()
        mine = rows[ctx.replica_id_in_sync_group * half:][:half]
        x = tf.gather(scans, mine)
        y = tf.gather(labels, mine)
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            loss = tf.reduce_sum(ce) / GLOBAL_BATCH
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    @tf.function
    def train_step(self, scans, labels, rows):
        losses = self.strategy.run(self.replica_step, args=(scans, labels, rows))
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


def main():
    keras.utils.set_random_seed(4)
    scans, labels = load_scans()
    trainer = Trainer(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]))
    rng = np.random.default_rng(0)
    trainer.train_step(scans, labels, tf.range(GLOBAL_BATCH))

    start = time.perf_counter()
    for step in range(1, STEPS + 1):
        rows = tf.constant(rng.integers(0, N_SCANS, size=GLOBAL_BATCH), tf.int32)
        loss = trainer.train_step(scans, labels, rows)
        if step % 40 == 0:
            print("step %d loss %.4f" % (step, float(loss)))
    print("loop %.2f s" % (time.perf_counter() - start))


if __name__ == "__main__":
    main()
