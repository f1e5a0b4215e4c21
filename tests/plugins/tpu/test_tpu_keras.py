"""Keras under the emulated strategy: fit, evaluate, predict, saving, checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.plugins.tpu.strategies import copies, make_strategy

pytestmark = pytest.mark.tf

FEATURES = np.random.default_rng(0).normal(size=(48, 6)).astype(np.float32)
LABELS = (FEATURES.sum(1) > 0).astype(np.int64)


def _compiled(strategy, normalised=False, **options):
    tf.keras.utils.set_random_seed(1)
    with strategy.scope():
        model = tf.keras.Sequential(
            [
                tf.keras.Input((6,)),
                tf.keras.layers.Dense(8, activation="relu"),
                *([tf.keras.layers.BatchNormalization()] if normalised else []),
                tf.keras.layers.Dense(2),
            ]
        )
        model.compile(
            tf.keras.optimizers.Adam(0.05),
            tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            metrics=["accuracy"],
            **options,
        )
    return model


def test_fit_evaluate_predict():
    model = _compiled(make_strategy(4), normalised=True)
    history = model.fit(FEATURES, LABELS, batch_size=16, epochs=6, verbose=0)
    assert history.history["loss"][-1] < 0.7 * history.history["loss"][0]
    loss, accuracy = model.evaluate(FEATURES, LABELS, batch_size=16, verbose=0)
    assert accuracy > 0.8
    assert np.isfinite(loss)
    assert model.predict(FEATURES[:13], batch_size=8, verbose=0).shape == (13, 2)


def test_several_steps_per_execution_train_the_same():
    one, three = _compiled(make_strategy(2)), _compiled(make_strategy(2), steps_per_execution=3)
    for model in (one, three):
        model.fit(FEATURES, LABELS, batch_size=16, shuffle=False, verbose=0)
    for a, b in zip(one.get_weights(), three.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_fit_over_logical_cores():
    strategy = make_strategy(2, 2, spmd=True)
    with strategy.scope():

        class Split(tf.keras.layers.Layer):
            def call(self, x):
                if tf.distribute.get_replica_context() is None:  # Keras builds the model first
                    return x
                return strategy.experimental_split_to_logical_devices(x, [1, 2])

        model = tf.keras.Sequential(
            [tf.keras.Input((6,)), Split(), tf.keras.layers.Dense(4), tf.keras.layers.Dense(2)]
        )
        model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    dataset = tf.data.Dataset.from_tensor_slices((FEATURES, LABELS)).batch(16, drop_remainder=True)
    model.fit(dataset, epochs=1, verbose=0)
    report = strategy.extended.last_expansion
    assert report.partitioned["MatMul"] > 0
    for weight in model.trainable_weights:
        values = copies(weight.value)
        assert len(values) == 4
        for copy in values[1:]:
            np.testing.assert_array_equal(copy, values[0])


def test_recurrent_and_embedding_layers():
    strategy = make_strategy(2)
    with strategy.scope():
        model = tf.keras.Sequential(
            [
                tf.keras.layers.Embedding(7, 4),
                tf.keras.layers.LSTM(3, return_sequences=True),
                tf.keras.layers.GRU(3),
                tf.keras.layers.Dense(1),
            ]
        )
        model.compile("sgd", "mse")
    tokens = np.random.default_rng(0).integers(0, 7, (16, 5))
    history = model.fit(tokens, np.ones((16, 1)), batch_size=8, epochs=2, verbose=0)
    assert history.history["loss"][1] < history.history["loss"][0]


def test_save_and_load(tmp_path):
    model = _compiled(make_strategy(2))
    model.fit(FEATURES, LABELS, batch_size=16, verbose=0)
    expected = model.predict(FEATURES, verbose=0)
    model.save(tmp_path / "model.keras")
    model.export(tmp_path / "saved", verbose=False)
    with make_strategy(4).scope():
        again = tf.keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(again.predict(FEATURES, verbose=0), expected, atol=1e-5)
    loaded = tf.saved_model.load(tmp_path / "saved")
    np.testing.assert_allclose(loaded.serve(FEATURES), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("first", "second"), [((2, 1), (4, 1)), ((2, 2), (1, 4)), ((1, 8), (8, 1))]
)
def test_a_checkpoint_moves_to_another_shape(tmp_path, first, second):
    def variables(shape):
        strategy = make_strategy(*shape, spmd=shape[1] > 1)
        with strategy.scope():
            return tf.Variable([1.0, 2.0]), tf.Variable(3)

    saved = variables(first)
    saved[0].assign([5.0, 6.0])
    path = tf.train.Checkpoint(a=saved[0], b=saved[1]).save(tmp_path / "checkpoint")
    restored = variables(second)
    restored[1].assign(0)
    tf.train.Checkpoint(a=restored[0], b=restored[1]).restore(path).assert_consumed()
    assert all(copy.tolist() == [5.0, 6.0] for copy in copies(restored[0]))
    assert copies(restored[1]) == [3] * len(copies(restored[1]))
