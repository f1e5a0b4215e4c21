"""Contrastive pretraining with a bank of earlier keys as negatives."""
import time

import numpy as np
import tensorflow as tf
import keras

INPUTS = 96
DIM = 128
BATCH = 128
STEPS = 580
TEMPERATURE = 0.1
MOMENTUM = 0.99


def build_encoder():
    return keras.Sequential([
        keras.Input((INPUTS,)),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.Dense(DIM),
        keras.layers.UnitNormalization()])


def views(rng, base):
    """Two noisy views of the same rows."""
    rows = base[rng.integers(0, len(base), size=BATCH)]
    noise = rng.normal(scale=0.2, size=(2,) + rows.shape)
    return (tf.constant(rows + noise[0], tf.float32),
            tf.constant(rows + noise[1], tf.float32))


class Pretrainer:
    def __init__(self):
        self.query = build_encoder()
        self.key = build_encoder()
        self.key.set_weights(self.query.get_weights())
        self.optimizer = keras.optimizers.SGD(0.03)
        self.optimizer.build(self.query.trainable_variables)
        self.bank = tf.math.l2_normalize(
            tf.random.stateless_normal((BATCH, DIM), seed=(3, 4)), axis=1)

    @tf.function(input_signature=[tf.TensorSpec((BATCH, INPUTS)),
                                  tf.TensorSpec((BATCH, INPUTS)),
                                  tf.TensorSpec((None, DIM))])
    def step(self, xq, xk, bank):
        k = self.key(xk, training=False)
        with tf.GradientTape() as tape:
            q = self.query(xq, training=True)
            positive = tf.reduce_sum(q * k, axis=1, keepdims=True)
            negative = tf.matmul(q, bank, transpose_b=True)
            logits = tf.concat([positive, negative], axis=1) / TEMPERATURE
            labels = tf.zeros((BATCH,), tf.int32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=labels, logits=logits))
        grads = tape.gradient(loss, self.query.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.query.trainable_variables))
        for slow, fast in zip(self.key.trainable_variables, self.query.trainable_variables):
            slow.assign(MOMENTUM * slow + (1.0 - MOMENTUM) * fast)
        return loss, k

    def train_batch(self, xq, xk):
        loss, keys = self.step(xq, xk, self.bank)
        self.bank = tf.concat([keys, self.bank], axis=0)
        return loss


def main():
    keras.utils.set_random_seed(10)
    rng = np.random.default_rng(1)
    base = rng.normal(size=(5000, INPUTS))
    trainer = Pretrainer()
    trainer.train_batch(*views(rng, base))

    start = time.perf_counter()
    for step in range(1, STEPS + 1):
        loss = trainer.train_batch(*views(rng, base))
        if step % 100 == 0:
            print("step %d loss %.4f" % (step, float(loss)))
    print("loop %.2f s" % (time.perf_counter() - start))


if __name__ == "__main__":
    main()
