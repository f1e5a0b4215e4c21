# source: tensorflow#25254 (Your dataset iterator ran out of data), same in a loop with a fixed number of steps per epoch
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(25)

EPOCHS = 5
STEPS_PER_EPOCH = 60
GLOBAL_BATCH = 128

rng = np.random.default_rng(25)
examples = rng.normal(size=(GLOBAL_BATCH * 200, 50)).astype("float32")
classes = np.argmax(examples[:, :6], axis=1)

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
dataset = tf.data.Dataset.from_tensor_slices((examples, classes)).shuffle(4096, seed=1).batch(GLOBAL_BATCH)
iterator = iter(strategy.experimental_distribute_dataset(dataset))

with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.Input((50,)),
        tf.keras.layers.Dense(700, activation="relu"),
        tf.keras.layers.Dense(700, activation="relu"),
        tf.keras.layers.Dense(6),
    ])
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)


@tf.function
def train_step(batch):
    def fn(x, y):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(y, model(x, training=True))
            loss = tf.nn.compute_average_loss(losses, global_batch_size=GLOBAL_BATCH)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss
    return strategy.reduce("SUM", strategy.run(fn, args=batch), axis=None)


for epoch in range(EPOCHS):
    mean = tf.keras.metrics.Mean()
    for _ in range(STEPS_PER_EPOCH):
        mean.update_state(train_step(next(iterator)))
    print("epoch", epoch, "loss %.4f" % float(mean.result()), flush=True)
print("RESULT %.6f" % float(mean.result()))
