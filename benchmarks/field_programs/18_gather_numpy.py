"""Custom loop that draws minibatches from a NumPy matrix by index."""
import numpy as np
import tensorflow as tf

CELLS = 36_000
GENES = 500
LATENT = 16
BATCH = 128
STEPS = 120


def expression_matrix(seed=0):
    """Log counts, one row per gene as the sequencing pipeline exports them."""
    rng = np.random.default_rng(seed)
    programs = rng.normal(size=(GENES, 8)).astype("float32")
    usage = rng.gamma(1.0, size=(8, CELLS)).astype("float32")
    noise = rng.standard_normal((GENES, CELLS), dtype="float32")
    return programs @ usage + 0.5 * noise


class Sampler:
    def __init__(self, matrix, seed=1):
        self.matrix = matrix
        self.rng = np.random.default_rng(seed)
        self.queue = np.zeros(0, np.int64)

    def indices(self):
        if len(self.queue) < BATCH:
            self.queue = self.rng.permutation(len(self.matrix))
        head, self.queue = self.queue[:BATCH], self.queue[BATCH:]
        return head

    def __call__(self):
        return tf.gather(self.matrix, self.indices())


class VAE(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = tf.keras.Sequential([
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(2 * LATENT)])
        self.decoder = tf.keras.Sequential([
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(GENES)])

    def call(self, x):
        mean, logvar = tf.split(self.encoder(x), 2, axis=1)
        z = mean + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mean))
        kl = -0.5 * tf.reduce_sum(
            1 + logvar - tf.square(mean) - tf.exp(logvar), axis=1)
        return self.decoder(z), kl


class Runner:
    def __init__(self):
        self.model = VAE()
        self.model(tf.zeros([1, GENES]))
        self.optimizer = tf.keras.optimizers.Adam(1e-3)
        self.optimizer.build(self.model.trainable_variables)

    @tf.function
    def step(self, x, beta):
        with tf.GradientTape() as tape:
            recon, kl = self.model(x)
            error = tf.reduce_sum(tf.square(recon - x), axis=1)
            loss = tf.reduce_mean(error + beta * kl)
        variables = self.model.trainable_variables
        grads = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(grads, variables))
        return loss


def main():
    tf.keras.utils.set_random_seed(2)
    draw = Sampler(expression_matrix().T)
    runner = Runner()
    losses = []
    for i in range(STEPS):
        beta = tf.constant(min(1.0, i / 100), tf.float32)
        losses.append(runner.step(draw(), beta))
        if (i + 1) % 40 == 0:
            mean = float(tf.reduce_mean(tf.stack(losses[-40:])))
            print(f"step {i + 1}: elbo loss {mean:.1f}")


if __name__ == "__main__":
    main()
