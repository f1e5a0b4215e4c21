"""Short-range rain nowcasting on radar frames: four past frames in, the next one out."""
import time

import numpy as np
import tensorflow as tf
import keras

SIDE = 96
N_FRAMES = 2600
HISTORY = 4
BATCH = 8
STEPS = 720


class RadarArchive:
    """Keeps the whole season of radar composites."""

    def __init__(self, n_frames, side, seed=11):
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((n_frames, side // 8, side // 8)).astype("float32")
        drift = np.cumsum(noise, axis=0) * 0.05
        self.frames = np.kron(drift, np.ones((1, 8, 8), "float32"))
        self.rng = rng

    def __len__(self):
        return len(self.frames)

    def draw_starts(self, k):
        return self.rng.integers(0, len(self) - HISTORY - 1, size=k).astype("int32")


def build_net():
    inp = keras.Input((SIDE, SIDE, HISTORY))
    x = keras.layers.Conv2D(8, 5, strides=2, padding="same", activation="relu")(inp)
    x = keras.layers.Conv2D(12, 3, strides=2, padding="same", activation="relu")(x)
    x = keras.layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu")(x)
    out = keras.layers.Conv2DTranspose(1, 3, strides=2, padding="same")(x)
    return keras.Model(inp, out)


class Trainer:
    def __init__(self, archive):
        self.archive = archive
        self.net = build_net()
        self.opt = keras.optimizers.Adam(1e-3)
        self.opt.build(self.net.trainable_variables)

    @tf.function
    def _update(self, frames, starts):
        offsets = tf.range(HISTORY + 1)
        clip = tf.gather(frames, starts[:, None] + offsets[None, :])
        clip = tf.transpose(clip, [0, 2, 3, 1])
        past, target = clip[..., :HISTORY], clip[..., HISTORY:]
        with tf.GradientTape() as tape:
            guess = self.net(past, training=True)
            loss = tf.reduce_mean(tf.square(guess - target))
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        return loss

    def step(self):
        starts = self.archive.draw_starts(BATCH)
        frames = tf.constant(self.archive.frames)
        return self._update(frames, starts)


def main():
    keras.utils.set_random_seed(5)
    trainer = Trainer(RadarArchive(N_FRAMES, SIDE))
    trainer.step()
    t0 = time.perf_counter()
    for i in range(1, STEPS + 1):
        loss = trainer.step()
        if i % 120 == 0:
            print("step %d mse %.4f" % (i, float(loss)))
    print("loop %.2f s" % (time.perf_counter() - t0))


if __name__ == "__main__":
    main()
