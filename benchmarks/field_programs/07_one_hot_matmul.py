"""LINE-like node embedding: neighbours should have similar vectors."""
import numpy as np
import tensorflow as tf

NODES = 9000
DIM = 64
EDGES_PER_NODE = 6
BATCH = 384
NEGATIVE = 3
STEPS = 240
LEARNING_RATE = 0.05


class Graph:
    """Random community graph, stored as an edge list."""

    def __init__(self, nodes=NODES, communities=60, seed=0):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, communities, nodes)
        order = np.argsort(group, kind="stable")
        start = np.searchsorted(group[order], np.arange(communities + 1))
        src = np.repeat(np.arange(nodes), EDGES_PER_NODE)
        lo, hi = start[group[src]], start[group[src] + 1]
        dst = order[lo + (rng.random(len(src)) * (hi - lo)).astype(int)]
        self.edges = np.stack([src, dst], 1).astype("int32")
        degree = np.bincount(dst, minlength=nodes) ** 0.75
        self.cumulative = np.cumsum(degree / degree.sum())
        self.rng = rng

    def batch(self, size, negative):
        rows = self.edges[self.rng.integers(0, len(self.edges), size)]
        draws = self.rng.random(size * negative)
        bad = np.searchsorted(self.cumulative, draws).clip(0, NODES - 1)
        u = np.concatenate([rows[:, 0], np.repeat(rows[:, 0], negative)])
        v = np.concatenate([rows[:, 1], bad.astype("int32")])
        label = np.concatenate([np.ones(size), -np.ones(size * negative)])
        return (tf.constant(u, tf.int32), tf.constant(v, tf.int32),
                tf.constant(label, tf.float32))


class LineModel(tf.Module):
    def __init__(self):
        super().__init__(name="line")
        gen = tf.random.Generator.from_seed(12)
        self.embedding = tf.Variable(
            gen.uniform([NODES, DIM], -1, 1), name="embedding")
        self.context = tf.Variable(
            gen.uniform([NODES, DIM], -1, 1), name="context")

    def rows(self, table, index):
        return tf.matmul(tf.one_hot(index, depth=NODES), table)

    @tf.function
    def score(self, u, v):
        return tf.reduce_sum(self.rows(self.embedding, u)
                             * self.rows(self.context, v), axis=1)


def make_step(model):
    optimizer = tf.keras.optimizers.SGD(LEARNING_RATE * BATCH)
    variables = list(model.trainable_variables)
    optimizer.build(variables)

    @tf.function
    def step(u, v, label):
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(
                tf.math.log_sigmoid(label * model.score(u, v)))
        grads = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(grads, variables))
        return loss

    return step


def main():
    tf.random.set_seed(1)
    graph = Graph()
    model = LineModel()
    step = make_step(model)
    window = []
    for i in range(STEPS):
        window.append(step(*graph.batch(BATCH, NEGATIVE)))
        if (i + 1) % 50 == 0:
            print(f"step {i + 1}: loss {np.mean([float(l) for l in window]):.4f}")
            window.clear()
    norm = tf.norm(model.embedding, axis=1)
    print("mean vector length", float(tf.reduce_mean(norm)))


if __name__ == "__main__":
    main()
