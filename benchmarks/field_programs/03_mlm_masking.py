"""Masked language model on made-up token streams, masks drawn again for each batch."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import random
import time
import numpy as np
import tensorflow as tf

VOCAB = 2000
MASK_ID = 1
SPECIAL = {0, 1, 2, 3}
SEQ = 256
BATCH = 128
STEPS = 550


def token_streams(n=3000, seed=21):
    rng = np.random.default_rng(seed)
    ids = rng.zipf(1.3, size=(n, SEQ)) % (VOCAB - 4) + 4
    ids[:, 0] = 2
    ends = rng.integers(SEQ // 2, SEQ, size=n)
    for row, e in enumerate(ends):
        ids[row, e] = 3
        ids[row, e + 1:] = 0
    return ids.astype(np.int32)


class MaskingCollator:
    """15 % of the tokens are to be guessed: 80 % mask, 10 % random, 10 % unchanged."""

    def __init__(self, rate=0.15, seed=7):
        self.rate = rate
        self.rng = random.Random(seed)

    def __call__(self, rows):
        inputs, labels = [], []
        for row in rows:
            new_row, lab = [], []
            for tok in row:
                if int(tok) in SPECIAL or self.rng.random() >= self.rate:
                    new_row.append(int(tok))
                    lab.append(-100)
                    continue
                lab.append(int(tok))
                dice = self.rng.random()
                if dice < 0.8:
                    new_row.append(MASK_ID)
                elif dice < 0.9:
                    new_row.append(self.rng.randrange(4, VOCAB))
                else:
                    new_row.append(int(tok))
            inputs.append(new_row)
            labels.append(lab)
        return np.array(inputs, np.int32), np.array(labels, np.int32)


def build():
    inp = tf.keras.Input((SEQ,), dtype="int32")
    h = tf.keras.layers.Embedding(VOCAB, 16)(inp)
    h = tf.keras.layers.Dense(16, activation="relu")(h)
    h = tf.keras.layers.LayerNormalization()(h)
    return tf.keras.Model(inp, h)


def main():
    tf.keras.utils.set_random_seed(0)
    streams = token_streams()
    collate = MaskingCollator()
    body = build()
    head = tf.Variable(tf.random.normal([16, VOCAB], stddev=0.05, seed=3))
    variables = body.trainable_variables + [head]
    opt = tf.keras.optimizers.SGD(0.1)
    order = np.random.default_rng(5)

    @tf.function(reduce_retracing=True)
    def train_step(x, y):
        with tf.GradientTape() as tape:
            h = body(x, training=True)
            where = tf.where(y >= 0)[:200]
            logits = tf.matmul(tf.gather_nd(h, where), head)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.gather_nd(y, where), logits=logits))
        opt.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    begin = time.perf_counter()
    for step in range(STEPS):
        rows = streams[order.integers(0, len(streams), BATCH)]
        x, y = collate(rows)
        loss = train_step(tf.constant(x), tf.constant(y))
        if step % 150 == 0:
            print("step", step, "loss", round(float(loss), 4))
    print("loop took %.2f s" % (time.perf_counter() - begin))


if __name__ == "__main__":
    main()
