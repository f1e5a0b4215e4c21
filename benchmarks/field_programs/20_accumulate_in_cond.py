# source: tensorflow#59487, keras-team/keras#17429 (merge_call called while defining a new graph or a tf.function)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(17)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

WARM_UP, EVERY = 600, 4
rng = np.random.default_rng(17)
x = rng.normal(size=(64 * 800, 20)).astype("float32")
y = x[:, :2].sum(1, keepdims=True)
feed = iter(strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((x, y)).batch(64).prefetch(2)))

with strategy.scope():
    model = tf.keras.Sequential([tf.keras.Input((20,)), tf.keras.layers.Dense(400, activation="relu"),
                                 tf.keras.layers.Dense(400, activation="relu"), tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.SGD(0.01)
    optimizer.build(model.trainable_variables)
    sums = [tf.Variable(tf.zeros_like(v), trainable=False, aggregation=tf.VariableAggregation.SUM,
                        synchronization=tf.VariableSynchronization.ON_READ) for v in model.trainable_variables]
    counter = tf.Variable(0, trainable=False, synchronization=tf.VariableSynchronization.ON_READ,
                          aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)


def gradients(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(model(x, training=True) - y)) / 64
    return loss, tape.gradient(loss, model.trainable_variables)


def plain_step(x, y):
    loss, grads = gradients(x, y)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def accumulating_step(x, y):
    loss, grads = gradients(x, y)
    for s, g in zip(sums, grads):
        s.assign_add(g / EVERY)
    counter.assign_add(1)

    def apply():
        optimizer.apply_gradients(zip([s.read_value() for s in sums], model.trainable_variables))
        for s in sums:
            s.assign(tf.zeros_like(s))
        return True

    tf.cond(tf.equal(counter % EVERY, 0), apply, lambda: False)
    return loss


def compiled(step):
    @tf.function
    def train(x, y):
        return strategy.reduce("SUM", strategy.run(step, args=(x, y)), axis=None)
    return train


simple, accumulating = compiled(plain_step), compiled(accumulating_step)
for step in range(800):
    x, y = next(feed)
    loss = simple(x, y) if step < WARM_UP else accumulating(x, y)
    if step % 100 == 0:
        print("step", step, "loss %.4f" % float(loss), flush=True)
print("RESULT %.6f" % float(loss))
