# source: tensorflow#34025, tensorflow#38561 ("calls triggered tf.function retracing", inputs of different shapes)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(38)
BATCH, VOCABULARY = 16, 500


def sentences():
    rng = np.random.default_rng(38)
    order = rng.permutation(np.arange(10, 44))
    for longest in order:
        for k in range(BATCH):
            length = int(longest) if k in (0, BATCH - 1) else int(rng.integers(5, longest))
            words = rng.integers(1, VOCABULARY, length)
            yield words.astype("int32"), int(words.sum() % 2)


everything = list(sentences())
texts = tf.ragged.constant([w.tolist() for w, _ in everything], dtype=tf.int32)
labels = tf.constant([l for _, l in everything], tf.int32)
dataset = (
    tf.data.Dataset.from_tensor_slices((texts, labels))
    .batch(BATCH, drop_remainder=True)
    .map(lambda text, label: (text.to_tensor(), label))
)

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
distributed = iter(strategy.experimental_distribute_dataset(dataset))
with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.layers.Embedding(VOCABULARY, 32),
        tf.keras.layers.Conv1D(32, 3, padding="same", activation="relu"),
        tf.keras.layers.GlobalMaxPooling1D(),
        tf.keras.layers.Dense(2),
    ])
    model.build((None, None))
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)


def replica(text, label):
    with tf.GradientTape() as tape:
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(label, model(text, training=True))
        loss = tf.reduce_sum(each) / BATCH
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return loss


@tf.function
def train_step(text, label):
    return strategy.reduce("SUM", strategy.run(replica, args=(text, label)), axis=None)


losses = []
for text, label in distributed:
    losses.append(train_step(text, label))
print("batches", len(losses))
print("RESULT %.6f" % float(losses[-1]))
