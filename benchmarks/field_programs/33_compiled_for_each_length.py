"""Sentences of any length, compiled."""

import numpy as np, tensorflow as tf

tf.keras.utils.set_random_seed(1)
emb = tf.Variable(tf.random.normal((500, 32)))
w = tf.Variable(tf.random.normal((32, 64)) * 0.1)
v = tf.Variable(tf.random.normal((64, 500)) * 0.1)
opt = tf.keras.optimizers.SGD(0.01)
opt.build([emb, w, v])


@tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)], jit_compile=True)
def step(ids):
    with tf.GradientTape() as tape:
        h = tf.nn.relu(tf.matmul(tf.gather(emb, ids), w))
        logits = tf.matmul(h, v)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits)
        )
    grads = tape.gradient(loss, [emb, w, v])
    for var, g in zip([emb, w, v], grads):
        var.assign_sub(0.01 * tf.convert_to_tensor(g))
    return loss


rng = np.random.default_rng(0)
for i in range(70):
    n = int(rng.integers(8, 90))
    loss = step(tf.constant(rng.integers(0, 500, (16, n)), tf.int32))
    if i % 10 == 0:
        print(i, float(loss))
