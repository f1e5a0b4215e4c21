"""What tracing a program unchanged borrows from inside TensorFlow and Keras is still there."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


def test_every_hooked_method_is_defined_by_its_class() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import tracing as private_tf

    assert "run" in vars(private_tf.strategy_base())
    assert "run" in vars(tf.distribute.TPUStrategy)
    assert "__call__" in vars(private_tf.Function)
    assert "gradient" in vars(tf.GradientTape)
    iterators = private_tf.iterator_types()
    assert len(iterators) == 2, "TensorFlow's iterators have moved"
    assert all("__next__" in vars(kind) for kind in iterators)
    assert private_tf.optimizer_types(), "Keras's optimizers no longer have `apply`"
    assert any("assign" in vars(kind) for kind in private_tf.variable_types())
    assert "reset" in vars(private_tf.epoch_iterator_type())


def test_a_mesh_of_dtensor_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made by hand: a mesh lasts as long as its process."""
    from tensorflow.dtensor.python import api

    from strategy_core.private_tf import tracing as private_tf

    assert api._dtensor_singleton is None
    assert private_tf.why_no_graphs() is None
    monkeypatch.setattr(api, "_dtensor_singleton", object())
    assert "a mesh of `tf.experimental.dtensor`" in str(private_tf.why_no_graphs())


@pytest.mark.parametrize(
    "module", ["tensorflow.python.util.traceback_utils", "keras.src.utils.traceback_utils"]
)
def test_a_folder_is_left_out_of_filtered_tracebacks(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib

    from strategy_core.private_tf import tracing as private_tf

    filtering = importlib.import_module(module)
    monkeypatch.setattr(filtering, "_EXCLUDED_PATHS", filtering._EXCLUDED_PATHS)
    assert filtering.include_frame("/of/the/lab/hooks.py")
    private_tf.leave_out_of_tracebacks("/of/the/lab", module)
    assert not filtering.include_frame("/of/the/lab/hooks.py")
    assert filtering.include_frame("/of/the/program.py")


def test_keras_reports_batches_through_its_list_of_callbacks() -> None:
    import keras

    for name in ("on_train_begin", "on_train_end", "on_train_batch_begin", "on_train_batch_end"):
        assert name in vars(keras.callbacks.CallbackList)


def test_the_body_of_a_loop_is_distinguished_from_other_graphs() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import tracing as private_tf

    traced = []

    @tf.function
    def loop() -> None:
        traced.append(private_tf.is_loop_body(tf.compat.v1.get_default_graph()))
        tf.while_loop(
            lambda i: i < 2,
            lambda i: (
                traced.append(private_tf.is_loop_body(tf.compat.v1.get_default_graph())),
                i + 1,
            )[1:],
            [tf.constant(0)],
        )

    loop()
    assert traced == [False, True]


def test_graphs_are_collected_while_a_function_is_traced() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import tracing as private_tf

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.init_scope():
            assert private_tf.begin_graph_collection()
        return x * 2.0 + 1.0

    step(tf.ones((3,)))
    (metadata,) = private_tf.end_graph_collection()
    ops = {
        node.op for graphs in metadata.function_graphs for node in graphs.partition_graphs[0].node
    }
    assert "Mul" in ops
