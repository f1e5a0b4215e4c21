"""Sequence tagger; token accuracy on the development set after each epoch."""
import numpy as np
import tensorflow as tf

TOKENS = 800
TAGS = 12
LENGTH = 20
UNITS = 32
BATCH = 64
TRAIN = 3200
DEV = 640
EPOCHS = 4


def sentences(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(1, TOKENS, (n, LENGTH))
    before = np.roll(x, 1, axis=1)
    before[:, 0] = 0
    y = (x + before // 3) % TAGS
    return x.astype("int32"), y.astype("int32")


class Tagger(tf.Module):
    """Simple recurrent layer in both directions."""

    def __init__(self):
        super().__init__()
        g = tf.random.Generator.from_seed(3)
        n = lambda *s: tf.Variable(g.normal(s, stddev=0.1))
        self.embed = n(TOKENS, UNITS)
        self.wf, self.uf = n(UNITS, UNITS), n(UNITS, UNITS)
        self.wb, self.ub = n(UNITS, UNITS), n(UNITS, UNITS)
        self.out = n(2 * UNITS, TAGS)

    def scan(self, x, w, u, order):
        h = tf.zeros([tf.shape(x)[0], UNITS])
        states = [None] * LENGTH
        for t in order:
            h = tf.tanh(tf.matmul(x[:, t], w) + tf.matmul(h, u))
            states[t] = h
        return tf.stack(states, axis=1)

    def __call__(self, ids):
        x = tf.gather(self.embed, ids)
        f = self.scan(x, self.wf, self.uf, range(LENGTH))
        b = self.scan(x, self.wb, self.ub, reversed(range(LENGTH)))
        return tf.einsum("btu,uk->btk", tf.concat([f, b], 2), self.out)


class Experiment:
    def __init__(self):
        self.model = Tagger()
        self.optimizer = tf.keras.optimizers.Adam(5e-3)
        self.optimizer.build(self.model.trainable_variables)
        make = lambda n, s, b: tf.data.Dataset.from_tensor_slices(
            sentences(n, s)).batch(b).cache().prefetch(2)
        self.train_ds = make(TRAIN, 1, BATCH)
        self.dev_ds = make(DEV, 2, 4)

    @tf.function
    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(
                    y, self.model(x)))
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(
            zip(tape.gradient(loss, variables), variables))
        return loss

    def dev_step(self, x, y):
        guess = tf.argmax(self.model(x), axis=2, output_type=tf.int32)
        return tf.reduce_sum(tf.cast(guess == y, tf.int32))

    def dev_accuracy(self):
        right = tf.constant(0)
        for x, y in self.dev_ds:
            right += self.dev_step(x, y)
        return int(right) / (DEV * LENGTH)

    def run(self):
        for epoch in range(EPOCHS):
            losses = [self.train_step(x, y) for x, y in self.train_ds]
            print(f"epoch {epoch + 1}: loss {float(tf.reduce_mean(losses)):.3f}"
                  f" dev {self.dev_accuracy():.3f}")


if __name__ == "__main__":
    tf.random.set_seed(0)
    Experiment().run()
