"""Two replicas that look up user profiles in a (simulated) remote store inside the step."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import threading
import time
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration(), tf.config.LogicalDeviceConfiguration()])

USERS, PROFILE = 5000, 24
PER_REPLICA = 64
STEPS = 130
ROUND_TRIP = 0.03


class ProfileStore:
    """In place of the key-value service: an answer takes one round trip."""

    def __init__(self, seed=13):
        self.rows = np.random.default_rng(seed).normal(size=(USERS, PROFILE)).astype("float32")
        self.guard = threading.Lock()
        self.served = 0

    def _ask(self, ids):
        time.sleep(ROUND_TRIP)
        return self.rows[ids]

    def get(self, ids):
        ids = np.asarray(ids)
        with self.guard:
            answer = self._ask(ids)
            self.served += len(ids)
        return answer


def make_dataset(seed=17):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, USERS, 20000).astype("int64")
    ctx = rng.normal(size=(20000, 10)).astype("float32")
    y = (ctx[:, 0] + rng.normal(size=20000) > 0).astype("float32")[:, None]
    ds = tf.data.Dataset.from_tensor_slices((ids, ctx, y)).repeat()
    return ds.batch(2 * PER_REPLICA, drop_remainder=True).prefetch(2)


def build():
    return tf.keras.Sequential([
        tf.keras.Input((PROFILE + 10,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(32, activation="relu"),
        tf.keras.layers.Dense(1),
    ])


def main():
    tf.keras.utils.set_random_seed(6)
    store = ProfileStore()
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = build()
        opt = tf.keras.optimizers.SGD(0.05)
        opt.build(model.trainable_variables)
    dist = iter(strategy.experimental_distribute_dataset(make_dataset()))

    def replica_step(ids, ctx, y):
        profile = tf.numpy_function(store.get, [ids], tf.float32, stateful=False)
        profile = tf.ensure_shape(profile, [PER_REPLICA, PROFILE])
        with tf.GradientTape() as tape:
            out = model(tf.concat([profile, ctx], axis=1), training=True)
            loss = tf.nn.sigmoid_cross_entropy_with_logits(y, out)
            loss = tf.reduce_sum(loss) / (2.0 * PER_REPLICA)
        grads = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    @tf.function
    def train_step(batch):
        per_replica = strategy.run(replica_step, args=batch)
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

    train_step(next(dist))
    begin = time.perf_counter()
    for n in range(STEPS):
        loss = train_step(next(dist))
        if n % 50 == 0:
            print("step", n, "loss %.4f" % float(loss))
    print("loop took %.2f s, %d rows served" % (time.perf_counter() - begin, store.served))


if __name__ == "__main__":
    main()
