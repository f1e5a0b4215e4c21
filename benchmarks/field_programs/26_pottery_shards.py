"""Origin of pottery shards on four replicas; the input function runs once per worker."""
import numpy as np
import tensorflow as tf
import keras

REPLICAS = 4
GLOBAL_BATCH = 128
SIDE, SITES, SHARDS = 40, 9, 2560


def configure():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration() for _ in range(REPLICAS)])
    return tf.distribute.MirroredStrategy(["CPU:%d" % i for i in range(REPLICAS)])


def shards(seed=63):
    rng = np.random.default_rng(seed)
    site = rng.integers(0, SITES, SHARDS).astype("int32")
    image = rng.random((SHARDS, SIDE, SIDE, 1), dtype="float32")
    image[np.arange(SHARDS), site * 4] += 0.5
    return image, site


def input_fn(context):
    ds = tf.data.Dataset.from_tensor_slices(shards())
    ds = ds.shard(context.num_input_pipelines, context.input_pipeline_id)
    ds = ds.shuffle(SHARDS, seed=8).repeat()
    return ds.batch(GLOBAL_BATCH, drop_remainder=True).prefetch(2)


def shard_net():
    return keras.Sequential([
        keras.Input((SIDE, SIDE, 1)),
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(48, 3, padding="same", activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(SITES)])


class Training:
    def __init__(self, strategy):
        self.strategy = strategy
        with strategy.scope():
            self.net = shard_net()
            self.opt = keras.optimizers.Adam(1e-3)
            self.opt.build(self.net.trainable_variables)

    def replica(self, image, site):
        with tf.GradientTape() as tape:
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(
                site, self.net(image, training=True))
            loss = tf.nn.compute_average_loss(each)
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

    @tf.function
    def step(self, it):
        losses = self.strategy.run(self.replica, args=next(it))
        return self.strategy.reduce("SUM", losses, axis=None)

    def fit(self, epochs):
        feed = iter(self.strategy.distribute_datasets_from_function(input_fn))
        for epoch in range(epochs):
            losses = [self.step(feed) for _ in range(SHARDS // GLOBAL_BATCH)]
            print("epoch", epoch, "loss %.4f" % float(tf.add_n(losses) / len(losses)))


if __name__ == "__main__":
    keras.utils.set_random_seed(64)
    Training(configure()).fit(epochs=4)
