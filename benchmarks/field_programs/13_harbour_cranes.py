"""Load estimate of harbour cranes; the clipping of the gradients adapts to what was seen."""
import numpy as np
import tensorflow as tf
import keras

SENSORS, UNITS, BATCH = 40, 512, 64
STEPS = 480


class AdaptiveClip:
    """Clips every unit's gradient at a percentile of the norms observed during training."""

    def __init__(self, percentile=10.0):
        self.percentile = percentile
        self.history = tf.zeros((0,), tf.float32)

    def limit(self, norms):
        self.history = tf.concat([self.history, norms], axis=0)
        return nth_percentile(self.history, tf.constant(self.percentile))


@tf.function(input_signature=[tf.TensorSpec((None,), tf.float32), tf.TensorSpec((), tf.float32)])
def nth_percentile(values, q):
    ordered = tf.sort(values)
    where = tf.cast(tf.size(values) - 1, tf.float32) * q / 100.0
    return ordered[tf.cast(tf.round(where), tf.int32)]


def crane_table(n=25_600, seed=61):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, SENSORS)).astype("float32")
    w = rng.standard_normal((SENSORS, 3))
    y = np.abs(x @ w).sum(1, keepdims=True) + 0.1 * rng.standard_normal((n, 1))
    return x, y.astype("float32")


def main():
    keras.utils.set_random_seed(6)
    model = keras.Sequential([
        keras.Input((SENSORS,)),
        keras.layers.Dense(UNITS, activation="relu"),
        keras.layers.Dense(UNITS, activation="relu"),
        keras.layers.Dense(1)])
    opt = keras.optimizers.SGD(0.01)
    clip = AdaptiveClip()

    @tf.function
    def gradients(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        grads = tape.gradient(loss, model.trainable_variables)
        norms = tf.concat([tf.norm(g, axis=0) for g in grads if len(g.shape) == 2], axis=0)
        return loss, grads, norms

    @tf.function
    def apply(grads, limit):
        grads = [tf.clip_by_norm(g, limit, axes=[0]) for g in grads]
        opt.apply_gradients(zip(grads, model.trainable_variables))

    ds = tf.data.Dataset.from_tensor_slices(crane_table()).shuffle(4096, seed=2).repeat()
    ds = ds.batch(BATCH).prefetch(4).take(STEPS)
    for i, (x, y) in enumerate(ds):
        loss, grads, norms = gradients(x, y)
        apply(grads, clip.limit(norms))
        if i % 100 == 0:
            print("step %d loss %.4f" % (i, float(loss)))


if __name__ == "__main__":
    main()
