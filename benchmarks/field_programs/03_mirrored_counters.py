"""Segment classifier on two replicas with per-class counters, after a report on slow custom metrics."""
import numpy as np
import tensorflow as tf

CLASSES = 60
PER_REPLICA = 32
STEPS = 3600


def two_cpus():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration(), tf.config.LogicalDeviceConfiguration()])
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def batches(seed=3):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(CLASSES, 40)).astype(np.float32)
    label = rng.integers(0, CLASSES, 16384).astype(np.int32)
    x = centres[label] + rng.normal(size=(16384, 40)).astype(np.float32)
    ds = tf.data.Dataset.from_tensor_slices((x, label)).shuffle(4096, seed=seed).repeat()
    return ds.batch(2 * PER_REPLICA, drop_remainder=True).prefetch(2)


class ClassCounters:
    """Hits and totals for each class, added up over the replicas."""

    def __init__(self):
        self.hits = [self._counter(f"hit_{c}") for c in range(CLASSES)]
        self.seen = [self._counter(f"seen_{c}") for c in range(CLASSES)]

    @staticmethod
    def _counter(name):
        return tf.Variable(0.0, trainable=False, name=name,
                           synchronization=tf.VariableSynchronization.ON_WRITE,
                           aggregation=tf.VariableAggregation.SUM)

    def update(self, label, logits):
        guess = tf.argmax(logits, axis=1, output_type=tf.int32)
        right = tf.cast(guess == label, tf.float32)
        for c in range(CLASSES):
            mine = tf.cast(label == c, tf.float32)
            self.hits[c].assign_add(tf.reduce_sum(mine * right))
            self.seen[c].assign_add(tf.reduce_sum(mine))

    def recall(self):
        h = np.array([float(v.read_value()) for v in self.hits])
        s = np.array([float(v.read_value()) for v in self.seen])
        return h / np.maximum(s, 1.0)


def main():
    strategy = two_cpus()
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.layers.Input((40,)),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(CLASSES)])
        optimizer = tf.keras.optimizers.SGD(0.05)
        counters = ClassCounters()

    def replica_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = tf.nn.compute_average_loss(
                tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits),
                global_batch_size=2 * PER_REPLICA)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables),
                                      model.trainable_variables))
        counters.update(y, logits)
        return loss

    @tf.function
    def step(x, y):
        per_replica = strategy.run(replica_step, args=(x, y))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

    it = iter(strategy.experimental_distribute_dataset(batches()))
    for n in range(STEPS):
        loss = step(*next(it))
        if n % 900 == 0:
            print("step", n, "loss", float(loss))
    print("mean recall", counters.recall().mean().round(3))


if __name__ == "__main__":
    main()
