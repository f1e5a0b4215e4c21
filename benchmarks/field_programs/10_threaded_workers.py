"""Asynchronous (Hogwild style) training: one Python thread per logical CPU."""
import threading
import time

import numpy as np
import tensorflow as tf

cpus = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpus[0], [tf.config.LogicalDeviceConfiguration() for _ in range(2)])

SEQ = 200
HIDDEN = 96
BATCH = 32
FEATURES = 8
STEPS_PER_WORKER = 540


class SharedModel(tf.Module):
    def __init__(self):
        super().__init__()
        init = tf.random_normal_initializer(0.0, 0.08, seed=1)
        with tf.device("CPU:0"):
            self.kernel = tf.Variable(init((FEATURES + HIDDEN, HIDDEN)))
            self.out = tf.Variable(init((HIDDEN, 1)))

    def loss(self, x, y):
        w = tf.identity(self.kernel)
        h = tf.zeros((BATCH, HIDDEN))
        for t in tf.range(SEQ):
            h = tf.tanh(tf.matmul(tf.concat([x[:, t], h], axis=1), w))
        return tf.reduce_mean(tf.square(tf.matmul(h, self.out)[:, 0] - y))


class Worker(threading.Thread):
    """Computes gradients on its own device and writes them into the shared model."""

    def __init__(self, index, model, lock):
        super().__init__()
        self.index, self.model, self.lock = index, model, lock
        self.losses = []
        rng = np.random.default_rng(index)
        self.x = tf.constant(rng.normal(size=(8, BATCH, SEQ, FEATURES)), tf.float32)
        self.y = tf.reduce_mean(self.x[..., 0], axis=2)
        self.step_fn = tf.function(self._gradients)

    def _gradients(self, x, y):
        variables = [self.model.kernel, self.model.out]
        with tf.device("CPU:%d" % self.index):
            with tf.GradientTape() as tape:
                loss = self.model.loss(x, y)
            return loss, tape.gradient(loss, variables)

    def warm_up(self):
        self.step_fn(self.x[0], self.y[0])

    def apply(self, grads):
        for v, g in zip([self.model.kernel, self.model.out], grads):
            v.assign_sub(0.05 * tf.clip_by_norm(g, 1.0))

    def run(self):
        for step in range(STEPS_PER_WORKER):
            x, y = self.x[step % 8], self.y[step % 8]
            with self.lock:
                loss, grads = self.step_fn(x, y)
                self.apply(grads)
            self.losses.append(float(loss))


def main():
    tf.random.set_seed(5)
    model = SharedModel()
    lock = threading.Lock()
    workers = [Worker(i, model, lock) for i in range(2)]
    for worker in workers:
        worker.warm_up()

    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print("loop %.2f s" % (time.perf_counter() - start))
    for worker in workers:
        print("worker %d: first %.4f last %.4f" % (
            worker.index, worker.losses[0], np.mean(worker.losses[-10:])))


if __name__ == "__main__":
    main()
