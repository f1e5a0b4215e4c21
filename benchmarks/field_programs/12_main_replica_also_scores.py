# source: tensorflow#47503 (the first device is used most of the time and the others seldom), with extra work kept on one replica
import numpy as np
import tensorflow as tf

REPLICAS = 3
tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * REPLICAS)
tf.keras.utils.set_random_seed(475)
strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(REPLICAS)])

BATCH = 96
rng = np.random.default_rng(475)
x = rng.normal(size=(BATCH * 80, 64)).astype("float32")
y = x[:, :1] * x[:, 1:2]
feed = iter(strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).repeat(3).prefetch(2)))

with strategy.scope():
    net = tf.keras.Sequential([
        tf.keras.Input((64,)),
        tf.keras.layers.Dense(192, activation="relu"),
        tf.keras.layers.Dense(192, activation="relu"),
        tf.keras.layers.Dense(1),
    ])
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(net.trainable_variables)


def roughness(x):
    """How far the answer moves along a walk away from each example."""
    moved = tf.constant(0.0)
    here = x
    before = net(here)
    for _ in tf.range(300):
        here = here + 0.004 * tf.tanh(here)
        after = net(here)
        moved += tf.reduce_mean(tf.abs(after - before))
        before = after
    return moved


def replica_step(x, y):
    with tf.GradientTape() as tape:
        error = tf.square(net(x, training=True) - y)
        loss = tf.reduce_sum(error) / BATCH
    score = tf.constant(0.0)
    if tf.distribute.get_replica_context().replica_id_in_sync_group == 0:
        score = roughness(x)
    gradients = tape.gradient(loss, net.trainable_variables)
    with tf.control_dependencies([score]):
        gradients = [tf.identity(g) for g in gradients]
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))
    return loss, score


@tf.function
def train_step(x, y):
    loss, score = strategy.run(replica_step, args=(x, y))
    return strategy.reduce("SUM", loss, axis=None), strategy.reduce("SUM", score, axis=None)


for step, (bx, by) in enumerate(feed):
    loss, score = train_step(bx, by)
    if step % 80 == 79:
        print("step", step + 1, "loss", float(loss), "roughness", float(score))
print("RESULT %.6f" % float(loss))
