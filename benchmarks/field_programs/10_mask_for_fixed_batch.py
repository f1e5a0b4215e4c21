# source: tensorflow#45594 (error depends on the number of samples in the last batch under MirroredStrategy)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(4)

REPLICAS = 2
PER_REPLICA = 32
ROWS = PER_REPLICA * REPLICAS * 150 + 40

rng = np.random.default_rng(4)
x = rng.normal(size=(ROWS, 300)).astype("float32")
y = x[:, :1] * 3

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
data = strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((x, y)).batch(PER_REPLICA * REPLICAS).prefetch(2))

with strategy.scope():
    first = tf.keras.layers.Dense(900, activation="relu")
    second = tf.keras.layers.Dense(900, activation="relu")
    third = tf.keras.layers.Dense(1)
    model = tf.keras.Sequential([tf.keras.Input((300,)), first, second, third])
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)

example_weight = tf.constant(np.linspace(0.5, 1.5, PER_REPLICA)[:, None], tf.float32)


@tf.function
def train_step(x, y):
    def fn(x, y):
        with tf.GradientTape() as tape:
            error = tf.square(model(x, training=True) - y)
            loss = tf.reduce_sum(error * example_weight) / (PER_REPLICA * REPLICAS)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss
    return strategy.reduce("SUM", strategy.run(fn, args=(x, y)), axis=None)


for epoch in range(3):
    total = 0.0
    for step, (bx, by) in enumerate(data):
        total += train_step(bx, by)
    print("epoch", epoch, "mean loss", float(total) / (step + 1))
print("RESULT %.6f" % (float(total) / (step + 1)))
