# source: tensorflow#55147, tensorflow#34609 (a Python value among the arguments of the distributed step)
import numpy as np
import tensorflow as tf

cpu, = tf.config.list_physical_devices("CPU")[:1]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(55)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

BATCH = 64
rng = np.random.default_rng(55)
x_all = rng.normal(size=(BATCH * 34, 28)).astype("float32")
y_all = (x_all[:, 0] * x_all[:, 1] > 0).astype("int32")
batches = iter(strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((x_all, y_all)).batch(BATCH)))

with strategy.scope():
    body = tf.keras.Sequential([tf.keras.Input((28,))])
    for _ in range(2):
        body.add(tf.keras.layers.Dense(48, activation="gelu"))
    body.add(tf.keras.layers.Dense(2))
    optimizer = tf.keras.optimizers.SGD(0.05)
    optimizer.build(body.trainable_variables)


def forward_backward(x, y, warm):
    with tf.GradientTape() as tape:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, body(x, training=True))
        loss = warm * tf.reduce_sum(losses) / BATCH
    variables = body.trainable_variables
    optimizer.apply(tape.gradient(loss, variables), variables)
    return loss


@tf.function
def train_step(x, y, number):
    warm = min(1.0, (number + 1) / 20.0)
    parts = strategy.run(forward_backward, args=(x, y, warm))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None)


for number, (x, y) in enumerate(batches):
    loss = train_step(x, y, number)
print("RESULT %.6f" % loss.numpy())
