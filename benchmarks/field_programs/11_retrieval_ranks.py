# source: tensorflow/recommenders#259 (top-k accuracy over all items makes training very slow)
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
tf.keras.utils.set_random_seed(259)
USERS, ITEMS, WIDTH, BATCH = 2000, 40000, 16, 256

rng = np.random.default_rng(259)
user_of = rng.integers(0, USERS, BATCH * 10).astype("int32")
item_of = ((user_of * 17 + rng.integers(0, 5, BATCH * 10)) % ITEMS).astype("int32")
dataset = tf.data.Dataset.from_tensor_slices((user_of, item_of)).batch(BATCH, drop_remainder=True).prefetch(2)


class TwoTowers(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.users = tf.keras.layers.Embedding(USERS, WIDTH)
        self.items = tf.keras.layers.Embedding(ITEMS, WIDTH)
        self.hits = tf.keras.metrics.Mean(name="hits_at_100")

    def call(self, pair):
        return self.users(pair[0]), self.items(pair[1])

    def train_step(self, pair):
        user, item = pair
        with tf.GradientTape() as tape:
            u, i = self((user, item), training=True)
            scores = tf.matmul(u, i, transpose_b=True)
            labels = tf.range(tf.shape(user)[0])
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)
            loss = tf.nn.compute_average_loss(each, global_batch_size=BATCH)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

        everything = tf.matmul(u, self.items.embeddings, transpose_b=True)
        _, best = tf.math.top_k(everything, k=100)
        hit = tf.reduce_any(tf.equal(best, item[:, None]), axis=1)
        self.hits.update_state(tf.cast(hit, tf.float32))
        return {"loss": loss, "hits": self.hits.result()}

    @property
    def metrics(self):
        return [self.hits]


with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = TwoTowers()
    model.compile(optimizer=tf.keras.optimizers.SGD(5.0), jit_compile=False)
history = model.fit(dataset, epochs=8, verbose=2)
print("RESULT %.6f" % history.history["hits"][-1])
