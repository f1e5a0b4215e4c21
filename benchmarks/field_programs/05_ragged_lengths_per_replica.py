# source: tensorflow#47503 (unbalanced use of the devices under MirroredStrategy), with sequences bucketed per replica
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(47)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

PER_REPLICA, WIDTH, STEPS = 24, 16, 120
BUCKETS = [(12, 16), (400, 440)]


def one_bucket(low, high, seed):
    rng = np.random.default_rng(seed)
    count = PER_REPLICA * STEPS
    lengths = rng.integers(low, high, count)
    flat = rng.normal(size=(int(lengths.sum()), WIDTH)).astype("float32")
    ends = np.cumsum(lengths)
    sequences = tf.RaggedTensor.from_row_limits(flat, ends)
    means = np.array([flat[e - l:e, 0].mean() for e, l in zip(ends, lengths)], np.float32)
    return (
        tf.data.Dataset.from_tensor_slices((sequences, lengths.astype("int32"), means))
        .map(lambda s, n, m: (s.to_tensor() if isinstance(s, tf.RaggedTensor) else s, n, m))
        .padded_batch(PER_REPLICA, padded_shapes=([None, WIDTH], [], []), drop_remainder=True)
        .prefetch(4)
    )


buckets = [one_bucket(low, high, i) for i, (low, high) in enumerate(BUCKETS)]
streams = [iter(b) for b in buckets]

with strategy.scope():
    w_in = tf.Variable(tf.random.normal((WIDTH, 96), stddev=0.1, seed=1))
    w_re = tf.Variable(tf.random.normal((96, 96), stddev=0.08, seed=2))
    w_out = tf.Variable(tf.random.normal((96, 1), stddev=0.1, seed=3))
    weights = [w_in, w_re, w_out]


def replica_step(sequence, length, mean):
    with tf.GradientTape() as tape:
        state = tf.zeros((PER_REPLICA, 96))
        for t in tf.range(tf.shape(sequence)[1]):
            new = tf.tanh(sequence[:, t] @ w_in + state @ w_re)
            state = tf.where((t < length)[:, None], new, state)
        loss = tf.reduce_mean((tf.squeeze(state @ w_out, 1) - mean) ** 2) / 2
    grads = tape.gradient(loss, weights)
    grads = tf.distribute.get_replica_context().all_reduce("sum", grads)
    for w, g in zip(weights, grads):
        w.assign_sub(0.05 * g)
    return loss


spec = (tf.TensorSpec((PER_REPLICA, None, WIDTH)), tf.TensorSpec((PER_REPLICA,), tf.int32), tf.TensorSpec((PER_REPLICA,)))


@tf.function(input_signature=[spec, spec])
def train_step(first, second):
    def value(ctx):
        return (first, second)[ctx.replica_id_in_sync_group]
    parts = strategy.experimental_distribute_values_from_function(value)
    losses = strategy.run(lambda part: replica_step(*part), args=(parts,))
    return strategy.reduce("SUM", losses, axis=None)


for step in range(STEPS):
    loss = train_step(next(streams[0]), next(streams[1]))
    if step % 20 == 19:
        print("step", step + 1, float(loss))
print("RESULT %.6f" % float(loss))
