# source: tensorflow#33649 (a Python metric after training batches, Callback that predicts and scores in Python)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(3)

BATCH = 3072


def ranking_quality(labels, scores):
    """Share of (positive, negative) pairs that are in the right order."""
    positive = [s for s, l in zip(scores, labels) if l == 1]
    negative = [s for s, l in zip(scores, labels) if l == 0]
    right = 0.0
    for p in positive:
        for n in negative:
            if p > n:
                right += 1.0
            elif p == n:
                right += 0.5
    return right / max(1, len(positive) * len(negative))


def build(strategy):
    with strategy.scope():
        model = tf.keras.Sequential([
            tf.keras.Input((64,)),
            tf.keras.layers.Dense(256, activation="relu"),
            tf.keras.layers.Dense(1),
        ])
        optimizer = tf.keras.optimizers.Adagrad(0.05)
        optimizer.build(model.trainable_variables)
    return model, optimizer


def main():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    model, optimizer = build(strategy)
    rng = np.random.default_rng(33)
    x = rng.normal(size=(BATCH * 80, 64)).astype("float32")
    y = (x[:, :8].sum(1) + rng.normal(size=len(x)) > 0).astype("int32")

    @tf.function
    def step(x, y):
        def body(x, y):
            with tf.GradientTape() as tape:
                score = model(x, training=True)[:, 0]
                loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(y, tf.float32), score)) / BATCH
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            return loss, score
        loss, score = strategy.run(body, args=(x, y))
        return strategy.reduce("SUM", loss, axis=None), strategy.gather(score, axis=0)

    feed = iter(strategy.experimental_distribute_dataset(
        tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH).prefetch(2)))
    quality = []
    for n, (bx, by) in enumerate(feed):
        loss, score = step(bx, by)
        labels = y[n * BATCH:(n + 1) * BATCH].tolist()
        quality.append(ranking_quality(labels, score.numpy().tolist()))
        if n % 20 == 19:
            print("batch", n + 1, "ranking", np.mean(quality[-20:]))
    return quality[-1]


print("RESULT %.6f" % main())
