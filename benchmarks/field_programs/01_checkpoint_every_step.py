# source: deepchem#458 (saving checkpoints takes more time than training), same question for tf.train.CheckpointManager
import tempfile

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(458)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

BATCH, STEPS = 64, 200
rng = np.random.default_rng(0)
inputs = rng.random((BATCH * STEPS, 256), dtype=np.float32)
labels = rng.integers(0, 12, BATCH * STEPS)
feed = iter(strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(BATCH).prefetch(4)))

with strategy.scope():
    net = tf.keras.Sequential([
        tf.keras.Input((256,)),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(12),
    ])
    opt = tf.keras.optimizers.Adam(1e-3)
    opt.build(net.trainable_variables)
    ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")

saver = tf.train.CheckpointManager(
    tf.train.Checkpoint(net=net, opt=opt), tempfile.mkdtemp(), max_to_keep=3)


@tf.function
def step(x, y):
    def on_replica(x, y):
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss(ce(y, net(x, training=True)), global_batch_size=BATCH)
        opt.apply(tape.gradient(loss, net.trainable_variables), net.trainable_variables)
        return loss
    return strategy.reduce("SUM", strategy.run(on_replica, args=(x, y)), axis=None)


for x, y in feed:
    loss = step(x, y)
    saver.save()
print("RESULT %.6f" % float(loss))
