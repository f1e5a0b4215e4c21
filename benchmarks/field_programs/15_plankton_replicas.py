"""Plankton image classifier; the same script runs on one or several devices."""
import time

import numpy as np
import tensorflow as tf
import keras

REPLICAS = 4
cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration() for _ in range(REPLICAS)])

SIDE = 32
CLASSES = 12
GLOBAL_BATCH = 128
STEPS = 200


def make_images(n=2048, seed=15):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, size=n).astype("int32")
    images = rng.random((n, SIDE, SIDE, 1), dtype="float32")
    for i, label in enumerate(labels):
        images[i, label:label + 8, label:label + 8] += 0.5
    return images, labels


def build_model():
    return keras.Sequential([
        keras.Input((SIDE, SIDE, 1)),
        keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(48, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(CLASSES)])


def main():
    keras.utils.set_random_seed(15)
    strategy = tf.distribute.MirroredStrategy(["CPU:%d" % i for i in range(REPLICAS)])
    images, labels = make_images()

    def dataset_fn(context):
        ds = tf.data.Dataset.from_tensor_slices((images, labels))
        ds = ds.shard(context.num_input_pipelines, context.input_pipeline_id)
        ds = ds.shuffle(2048, seed=1).repeat()
        return ds.batch(GLOBAL_BATCH, drop_remainder=True).prefetch(4)

    batches = iter(strategy.distribute_datasets_from_function(dataset_fn))
    with strategy.scope():
        model = build_model()
        optimizer = keras.optimizers.SGD(0.02)
        optimizer.build(model.trainable_variables)

    def step_fn(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
            loss = tf.nn.compute_average_loss(ce, global_batch_size=GLOBAL_BATCH)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    @tf.function
    def train_step(iterator):
        losses = strategy.run(step_fn, args=next(iterator))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    train_step(batches)
    start = time.perf_counter()
    for step in range(1, STEPS + 1):
        loss = train_step(batches)
        if step % 50 == 0:
            print("step %d loss %.4f" % (step, float(loss)))
    print("loop %.2f s" % (time.perf_counter() - start))


if __name__ == "__main__":
    main()
