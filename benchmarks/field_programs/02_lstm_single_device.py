# source: tensorflow#54085 (LSTM slow to train with a long observation period)
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(42)
STEPS_PER_SEQUENCE = 80

rng = np.random.default_rng(42)
series = np.cumsum(rng.normal(size=(1280, STEPS_PER_SEQUENCE, 8)), axis=1).astype("float32") / 10
next_value = series[:, -1, :1] + 0.1

train = (
    tf.data.Dataset.from_tensor_slices((series, next_value))
    .cache()
    .batch(64, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
)

strategy = tf.distribute.OneDeviceStrategy("CPU:0")
with strategy.scope():
    inputs = tf.keras.Input((STEPS_PER_SEQUENCE, 8))
    hidden = tf.keras.layers.LSTM(128, return_sequences=True, name="lower")(inputs)
    hidden = tf.keras.layers.LSTM(128, name="upper")(hidden)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, name="head")(hidden))
    model.compile(optimizer=tf.keras.optimizers.RMSprop(1e-3), loss="mae")

fit = model.fit(train, epochs=3, verbose=2)
print("RESULT %.6f" % fit.history["loss"][-1])
