"""Siamese matching of product codes; the pairs come from a PyDataset."""
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

ITEMS, BATCH, PAIRS, EPOCHS, WIDTH = 1000, 128, 3840, 8, 24
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def make_catalogue(seed=31):
    rng = np.random.default_rng(seed)
    stems = ["".join(rng.choice(list(LETTERS), 7)) for _ in range(70)]
    codes, groups = [], []
    for i in range(ITEMS):
        g = int(rng.integers(0, 70))
        tail = "".join(rng.choice(list(LETTERS), int(rng.integers(2, 7))))
        codes.append(stems[g] + "-" + tail)
        groups.append(g)
    return codes, np.array(groups)


def encode(codes):
    table = {c: i + 1 for i, c in enumerate(LETTERS + "-")}
    out = np.zeros((len(codes), WIDTH), "int32")
    for row, code in zip(out, codes):
        row[:len(code)] = [table[c] for c in code]
    return out


class PairMiner:
    """Ranks all items by how many letter pairs they share with a given one."""

    def __init__(self, codes):
        self.codes = codes

    def bigrams(self, code):
        return {code[i:i + 2] for i in range(len(code) - 1)}

    def table(self):
        sets = [self.bigrams(c) for c in self.codes]
        sim = np.zeros((len(sets), len(sets)), "float32")
        for i, a in enumerate(sets):
            for j, b in enumerate(sets):
                sim[i, j] = len(a & b) / len(a | b)
        return sim


class Pairs(tf.keras.utils.PyDataset):
    def __init__(self, codes, groups, seed=0):
        super().__init__()
        self.ids, self.groups = encode(codes), groups
        self.miner = PairMiner(codes)
        self.rng = np.random.default_rng(seed)
        self.draw()

    def draw(self):
        similar = self.miner.table()
        left = self.rng.integers(0, ITEMS, PAIRS)
        noise = 0.3 * self.rng.random((PAIRS, 16)).astype("float32")
        candidates = self.rng.integers(0, ITEMS, (PAIRS, 16))
        best = np.argmax(similar[left[:, None], candidates] + noise, 1)
        self.left, self.right = left, candidates[np.arange(PAIRS), best]

    def on_epoch_end(self):
        self.draw()

    def __len__(self):
        return PAIRS // BATCH

    def __getitem__(self, i):
        part = slice(i * BATCH, (i + 1) * BATCH)
        a, b = self.left[part], self.right[part]
        same = (self.groups[a] == self.groups[b]).astype("float32")
        return (self.ids[a], self.ids[b]), same[:, None]


def build():
    tower = tf.keras.Sequential([
        tf.keras.layers.Embedding(len(LETTERS) + 2, 16),
        tf.keras.layers.Conv1D(48, 3, activation="relu"),
        tf.keras.layers.GlobalMaxPooling1D(),
        tf.keras.layers.Dense(32)])
    a, b = tf.keras.Input((WIDTH,), dtype="int32"), tf.keras.Input((WIDTH,), dtype="int32")
    gap = tf.keras.layers.Subtract()([tower(a), tower(b)])
    out = tf.keras.layers.Dense(1, activation="sigmoid")(tf.keras.layers.Lambda(tf.abs)(gap))
    model = tf.keras.Model([a, b], out)
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


def main():
    tf.keras.utils.set_random_seed(31)
    codes, groups = make_catalogue()
    stop = tf.keras.callbacks.EarlyStopping("loss", patience=6)
    build().fit(Pairs(codes, groups), epochs=EPOCHS, callbacks=[stop], verbose=2)


if __name__ == "__main__":
    main()
