# source: tensorflow#27195 (strategy without tf.function is far slower than plain eager)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(27)

GLOBAL = 32


class Trainer:
    def __init__(self, strategy):
        self.strategy = strategy
        with strategy.scope():
            self.model = tf.keras.Sequential([
                tf.keras.Input((12, 12, 1)),
                tf.keras.layers.Conv2D(4, 3, activation="relu"),
                tf.keras.layers.MaxPool2D(),
                tf.keras.layers.Flatten(),
                tf.keras.layers.Dense(32, activation="relu"),
                tf.keras.layers.Dense(5),
            ])
            self.optimizer = tf.keras.optimizers.Adam(2e-3)
            self.optimizer.build(self.model.trainable_variables)

    def on_replica(self, image, label):
        with tf.GradientTape() as tape:
            logits = self.model(image, training=True)
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)
            loss = tf.nn.compute_average_loss(each, global_batch_size=GLOBAL)
        weights = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        return loss

    def train_step(self, image, label):
        per_replica = self.strategy.run(self.on_replica, args=(image, label))
        return self.strategy.reduce("SUM", per_replica, axis=None)

    def train(self, data, epochs):
        self.batches = iter(data)
        for epoch in range(epochs):
            total = 0.0
            for _ in range(40):
                image, label = next(self.batches)
                total += self.train_step(image, label)
            print("epoch", epoch, "mean loss", float(total) / 40)
        return float(total) / 40


rng = np.random.default_rng(4)
images = rng.random((GLOBAL * 40, 12, 12, 1), dtype=np.float32)
labels = (images.mean((1, 2, 3)) * 50).astype("int32") % 5
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(GLOBAL).repeat().prefetch(2)
trainer = Trainer(strategy)
print("RESULT %.6f" % trainer.train(strategy.experimental_distribute_dataset(dataset), 4))
