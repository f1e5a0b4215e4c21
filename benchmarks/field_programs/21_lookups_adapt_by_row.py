"""Insurance claims: categorical columns through StringLookup, then a small net."""
import time

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(13)
ROWS = 5500
COLUMNS = {"region": 22, "brand": 11, "fuel": 2, "density": 400}


def claims():
    rng = np.random.default_rng(13)
    table = {name: np.array([f"{name}_{v}" for v in rng.integers(0, size, ROWS)])
             for name, size in COLUMNS.items()}
    risk = sum((np.char.str_len(c) % 2) for c in table.values())
    y = (rng.random(ROWS) < risk / 8 + 0.1).astype("float32")
    return table, y


started = time.time()
table, y = claims()
rows = tf.data.Dataset.from_tensor_slices((table, y))

inputs, encoded = {}, []
for name in COLUMNS:
    lookup = tf.keras.layers.StringLookup(name=f"{name}_index")
    lookup.adapt(rows.map(lambda features, _, name=name: features[name]))
    col = tf.keras.Input((1,), dtype=tf.string, name=name)
    inputs[name] = col
    ids = lookup(col)
    vec = tf.keras.layers.Embedding(lookup.vocabulary_size(), 8)(ids)
    encoded.append(tf.keras.layers.Flatten()(vec))
    print(f"{name}: {lookup.vocabulary_size()} values")

h = tf.keras.layers.Concatenate()(encoded)
h = tf.keras.layers.Dense(64, activation="relu")(h)
h = tf.keras.layers.Dense(32, activation="relu")(h)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, activation="sigmoid")(h))
model.compile("adam", "binary_crossentropy", metrics=["AUC"])

train = (rows.shuffle(ROWS, seed=3).batch(128)
         .map(lambda f, t: ({k: v[:, None] for k, v in f.items()}, t))
         .prefetch(tf.data.AUTOTUNE))
model.fit(train, epochs=6, verbose=2)
print(f"all in all {time.time() - started:.0f} s")
