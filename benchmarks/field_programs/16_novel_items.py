"""Click model on a stream; items met for the first time get a larger weight."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

ITEMS, BUCKETS, BATCH, STEPS, USERS = 60000, 4096, 256, 200, 500


class ClickStream:
    """Popularity drifts, so that new items keep coming in."""

    def __init__(self, seed=27):
        self.rng = np.random.default_rng(seed)
        self.taste = self.rng.normal(size=(USERS,))
        self.quality = self.rng.normal(size=(ITEMS,))

    def batch(self, step):
        centre = ITEMS * (step + 1) / (STEPS + 1)
        items = self.rng.normal(centre, ITEMS / 6, BATCH).astype("int64") % ITEMS
        users = self.rng.integers(0, USERS, BATCH)
        odds = self.taste[users] + self.quality[items]
        clicks = self.rng.random(BATCH) < 1 / (1 + np.exp(-odds))
        return users.astype("int32"), items, clicks.astype("float32")


class Novelty:
    """Remembers which items have been seen."""

    def __init__(self, boost=2.0):
        self.seen = []
        self.boost = boost

    def weights(self, items):
        out = np.ones(len(items), "float32")
        for i, item in enumerate(items.tolist()):
            if item not in self.seen:
                self.seen.append(item)
                out[i] = self.boost
        return out


class ClickNet(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.users = tf.keras.layers.Embedding(USERS, 16)
        self.items = tf.keras.layers.Embedding(BUCKETS, 16)
        self.hidden = tf.keras.layers.Dense(32, activation="relu")
        self.out = tf.keras.layers.Dense(1)

    def call(self, inputs):
        users, items = inputs
        bucket = tf.cast(items % BUCKETS, tf.int32)
        both = tf.concat([self.users(users), self.items(bucket)], -1)
        return self.out(self.hidden(both))[:, 0]


def make_step(net, opt):
    @tf.function
    def step(users, items, clicks, weights):
        with tf.GradientTape() as tape:
            losses = tf.nn.sigmoid_cross_entropy_with_logits(clicks, net((users, items)))
            loss = tf.reduce_sum(weights * losses) / tf.reduce_sum(weights)
        grads = tape.gradient(loss, net.trainable_variables)
        opt.apply_gradients(zip(grads, net.trainable_variables))
        return loss
    return step


def main():
    tf.keras.utils.set_random_seed(27)
    stream, novelty = ClickStream(), Novelty()
    net, opt = ClickNet(), tf.keras.optimizers.SGD(0.1)
    step = make_step(net, opt)
    recent = []
    for i in range(STEPS):
        users, items, clicks = stream.batch(i)
        weights = novelty.weights(items)
        loss = step(users, items, clicks, weights)
        recent = (recent + [float(loss)])[-20:]
        if i % 40 == 0:
            print(f"{i:4d} loss {np.mean(recent):.4f} items so far {len(novelty.seen)}")


if __name__ == "__main__":
    main()
