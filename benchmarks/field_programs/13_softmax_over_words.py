# source: tensorflow#46278 (a large model for words under a strategy is slow)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(50)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

WORDS, WIDTH, CONTEXT, BATCH = 16000, 96, 4, 256
rng = np.random.default_rng(50)
text = (rng.zipf(1.3, size=BATCH * 8 + CONTEXT) % WORDS).astype("int32")
windows = np.lib.stride_tricks.sliding_window_view(text, CONTEXT + 1)
pairs = tf.data.Dataset.from_tensor_slices((windows[:, :-1].copy(), windows[:, -1].copy()))
feed = iter(strategy.experimental_distribute_dataset(pairs.batch(BATCH, drop_remainder=True).cache().repeat(10).prefetch(2)))

with strategy.scope():
    table = tf.Variable(tf.random.normal((WORDS, WIDTH), stddev=0.05, seed=1), name="table")
    mix = tf.Variable(tf.random.normal((CONTEXT * WIDTH, WIDTH), stddev=0.05, seed=2), name="mix")
    output = tf.Variable(tf.random.normal((WIDTH, WORDS), stddev=0.05, seed=3), name="output")
    variables = [table, mix, output]


def lm_step(context, word):
    with tf.GradientTape() as tape:
        vectors = tf.gather(table, context)
        hidden = tf.tanh(tf.reshape(vectors, (-1, CONTEXT * WIDTH)) @ mix)
        logits = hidden @ output
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(word, logits)
        loss = tf.reduce_sum(losses) / BATCH
    g_table, g_mix, g_output = tape.gradient(loss, variables)
    ctx = tf.distribute.get_replica_context()
    g_mix, g_output = ctx.all_reduce("sum", [g_mix, g_output])
    mix.assign_sub(0.5 * g_mix)
    output.assign_sub(0.5 * g_output)
    del g_table  # the word vectors stay as they are
    return loss


@tf.function
def train(context, word):
    return strategy.reduce("SUM", strategy.run(lm_step, args=(context, word)), axis=None)


for step, (context, word) in enumerate(feed):
    loss = train(context, word)
    if step % 16 == 15:
        print("step", step + 1, "loss", float(loss))
print("RESULT %.6f" % float(loss))
