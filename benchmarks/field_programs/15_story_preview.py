"""Tiny character model on two replicas; the first replica also writes a sample."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import time
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0],
    [tf.config.LogicalDeviceConfiguration(), tf.config.LogicalDeviceConfiguration()])

LETTERS = "abcdefgh .\n"
CONTEXT = 12
GLOBAL_BATCH = 256
STEPS = 700
PREVIEW_EVERY = 100
PREVIEW_LENGTH = 600


def corpus(n=60000, seed=7):
    rng = np.random.default_rng(seed)
    move = rng.dirichlet(np.ones(len(LETTERS)) * 0.25, size=len(LETTERS))
    text = np.zeros(n, np.int32)
    for i in range(1, n):
        text[i] = np.searchsorted(np.cumsum(move[text[i - 1]])[:-1], rng.random())
    return text


def windows(text, seed=4):
    starts = np.random.default_rng(seed).permutation(len(text) - CONTEXT - 1)
    x = np.stack([text[starts + k] for k in range(CONTEXT)], axis=1)
    y = text[starts + CONTEXT]
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(GLOBAL_BATCH).prefetch(2)


class CharNet(tf.Module):
    def __init__(self, dim=24, hidden=128, seed=0):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.emb = tf.Variable(rng.normal(size=(len(LETTERS), dim)).astype("float32"))
        self.w1 = tf.Variable((rng.normal(size=(CONTEXT * dim, hidden)) / 17).astype("float32"))
        self.w2 = tf.Variable((rng.normal(size=(hidden, len(LETTERS))) / 11).astype("float32"))

    def __call__(self, x):
        e = tf.reshape(tf.gather(self.emb, x), [tf.shape(x)[0], -1])
        return tf.matmul(tf.nn.relu(tf.matmul(e, self.w1)), self.w2)

    def write(self, start):
        """Continues the first row letter by letter."""
        out = tf.TensorArray(tf.int32, PREVIEW_LENGTH)
        context = start[:1]
        for i in tf.range(PREVIEW_LENGTH):
            letter = tf.random.categorical(self(context), 1, dtype=tf.int32, seed=3)
            out = out.write(i, letter[0, 0])
            context = tf.concat([context[:, 1:], letter], axis=1)
        return out.stack()


def main():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        net = CharNet()
    it = iter(strategy.experimental_distribute_dataset(windows(corpus())))

    def replica(x, y, preview):
        with tf.GradientTape() as tape:
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(y, net(x))
            loss = tf.reduce_sum(ce) / GLOBAL_BATCH
        ctx = tf.distribute.get_replica_context()
        text = tf.zeros([PREVIEW_LENGTH], tf.int32)
        if ctx.replica_id_in_sync_group == 0:
            text = net.write(x)
        grads = [tf.convert_to_tensor(g) for g in tape.gradient(loss, net.trainable_variables)]
        grads = ctx.all_reduce("SUM", grads)
        return loss, grads, text

    @tf.function
    def train_step(x, y, preview):
        loss, grads, text = strategy.run(replica, args=(x, y, preview))
        for v, g in zip(net.trainable_variables, grads):
            v.assign_sub(0.1 * strategy.experimental_local_results(g)[0])
        return strategy.reduce("SUM", loss, axis=None), strategy.experimental_local_results(text)[0]

    train_step(*next(it), tf.constant(True))
    begin = time.perf_counter()
    for n in range(1, STEPS + 1):
        preview = n % PREVIEW_EVERY == 0
        loss, text = train_step(*next(it), tf.constant(preview))
        if preview:
            print("step %d loss %.3f: %r" % (n, loss, "".join(LETTERS[i] for i in text.numpy()[:50])))
    print("loop took %.2f s" % (time.perf_counter() - begin))


if __name__ == "__main__":
    main()
