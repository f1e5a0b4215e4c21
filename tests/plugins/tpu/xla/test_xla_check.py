"""A step that a real TPU would refuse, or run on its host, is listed with op, line and way out."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import tensorflow as tf

from strategy_core import tpu
from strategy_tpu.xla import kernels
from strategy_tpu.xla.telling import ENVIRONMENT, XlaChecker
from tests.plugins.tpu.strategies import make_strategy

pytestmark = pytest.mark.tf


@pytest.fixture(scope="module")
def strategy():
    return make_strategy(2)


@pytest.fixture(scope="module")
def variable(strategy):
    with strategy.scope():
        return tf.Variable([5.0, 5.0, 5.0])


def _checked(strategy, fn, *args):
    """The findings of one trace of `fn`, by outcome, each with its op types."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tpu.TPUProgramWarning)
        step = tf.function(lambda *given: strategy.run(fn, args=given), autograph=False)
        step.get_concrete_function(*args)
    report = strategy.extended.xla.last
    return {
        outcome: {each.op for each in report.of(outcome)}
        for outcome in ("refused", "on_host", "slow")
        if report.of(outcome)
    }


def _loop_without_a_bound(variable):
    times = tf.cast(variable[0], tf.int32)
    with tf.GradientTape() as tape:
        _, y = tf.while_loop(
            lambda i, _: i < times, lambda i, y: (i + 1, y * tf.reduce_sum(variable)), (0, 1.0)
        )
    return tape.gradient(y, variable)


@pytest.mark.parametrize(
    ("fn", "op"),
    [
        (lambda v: tf.zeros([tf.cast(v[0], tf.int32)]), "Fill"),
        (lambda v: tf.range(tf.cast(v[0], tf.int32)), "Range"),
        (lambda v: tf.reshape(v, [tf.cast(v[0], tf.int32), -1]), "Reshape"),
        (_loop_without_a_bound, "EmptyTensorList"),
        (lambda v: tf.numpy_function(lambda x: x, [v], tf.float32), "PyFunc"),
        (lambda _: tf.io.decode_png(tf.constant(b"")), "DecodePng"),
    ],
)
def test_xla_refuses_ops_that_it_cannot_compile(strategy, variable, fn, op):
    assert _checked(strategy, lambda: fn(variable)) == {"refused": {op}}


def _printed(v):
    tf.print("sum", tf.reduce_sum(v))
    return v * 2


def _sparse_product(v):
    identity = tf.sparse.SparseTensor([[0, 0], [1, 1], [2, 2]], tf.ones([3]), [3, 3])
    return tf.sparse.sparse_dense_matmul(identity, v[:, None])


def _with_shape(v):
    result = tf.py_function(lambda x: x, [v], tf.float32)
    result.set_shape([3])
    return result + 1


@pytest.mark.parametrize(
    ("fn", "ops"),
    [
        (lambda _: tf.random.gamma([10], 0.5) * 2, {"RandomGamma"}),
        (_sparse_product, {"SparseTensorDenseMatMul"}),
        (_printed, {"PrintV2"}),
        (_with_shape, {"EagerPyFunc"}),
        (tf.strings.as_string, {"AsString"}),
        (lambda v: tf.cast(v, tf.complex128) * 2, {"Cast", "Const", "Mul"}),
    ],
)
def test_soft_placement_runs_lookups_and_iterators_on_the_host(strategy, variable, fn, ops):
    assert _checked(strategy, lambda: fn(variable)) == {"on_host": ops}


def test_an_op_of_a_function_that_autograph_rewrote_has_the_text_of_its_line(strategy, variable):
    _checked(strategy, lambda: _printed(variable))
    (finding,) = strategy.extended.xla.last.findings
    assert finding.where.startswith(f"{__file__}:")
    assert finding.code == 'tf.print("sum", tf.reduce_sum(v))'


def test_a_hash_table_and_an_iterator_run_on_the_host(strategy):
    keys = tf.lookup.KeyValueTensorInitializer(tf.constant([1]), tf.constant([2]))
    table = tf.lookup.StaticHashTable(keys, -1)
    ops_by_problem = _checked(strategy, lambda: table.lookup(tf.constant([1, 2])) + 1)
    assert ops_by_problem == {"on_host": {"LookupTableFindV2"}}
    iterator = iter(tf.data.Dataset.range(4).batch(2, drop_remainder=True))
    ops_by_problem = _checked(strategy, lambda: next(iterator) + 1)
    assert ops_by_problem == {"on_host": {"IteratorGetNext"}}
    (finding,) = strategy.extended.xla.last.findings
    assert "Call next(iterator) before strategy.run" in finding.sentence()


@pytest.mark.parametrize(
    ("fn", "op"),
    [
        (lambda v: tf.cast(v, tf.float64) * 2, "Mul"),
        (lambda v: tf.reduce_sum(tf.boolean_mask(v, v > 0)), "Where"),
        (lambda v: tf.unique(v)[0], "Unique"),
    ],
)
def test_slow_ops_compile_with_a_warning(strategy, variable, fn, op):
    ops_by_problem = _checked(strategy, lambda: fn(variable))
    assert set(ops_by_problem) == {"slow"}
    assert op in ops_by_problem["slow"]


def _assertion(v):
    tf.debugging.assert_positive(v, "not positive")
    return v


def _in_lockstep(v):
    context = tf.distribute.get_replica_context()
    return tf.while_loop(
        lambda i, _: i < 3, lambda i, x: (i + 1, context.all_reduce("mean", x)), (0, v + 1)
    )


@pytest.mark.parametrize(
    "fn",
    [
        lambda v: v.assign_add(tf.distribute.get_replica_context().all_reduce("sum", v + 1)),
        lambda v: tf.distribute.get_replica_context().all_gather(v + 1, 0),
        _in_lockstep,
        _assertion,
        lambda v: tf.zeros([tf.shape(v)[0]]),
    ],
)
def test_ops_that_a_tpu_compiles_are_not_reported(strategy, variable, fn):
    assert _checked(strategy, lambda: fn(variable)) == {}
    assert strategy.extended.xla.last.unchecked == []


def test_a_batch_of_unknown_size_and_a_constant_from_outside_compile(strategy):
    rows = tf.constant(3)
    batch = tf.TensorSpec([None, 4])
    assert _checked(strategy, lambda x: tf.zeros([rows]) + tf.reduce_sum(x), batch) == {}
    assert strategy.extended.xla.last.unchecked == []


def test_without_soft_placement_the_host_takes_nothing(strategy, variable):
    tf.config.set_soft_device_placement(False)
    try:
        ops_by_problem = _checked(strategy, lambda: _printed(variable))
    finally:
        tf.config.set_soft_device_placement(True)
    assert ops_by_problem == {"refused": {"PrintV2"}}


def test_a_warning_names_the_line_the_op_and_the_way_out():
    fresh = make_strategy(2)

    def step():
        return tf.zeros([tf.random.uniform([], 1, 5, tf.int32)])

    with pytest.warns(tpu.TPUProgramWarning, match="Fill would not compile") as caught:
        tf.function(lambda: fresh.run(step))()
    (warning,) = caught
    assert Path(warning.filename).name == Path(__file__).name
    assert warning.lineno == step.__code__.co_firstlineno + 1
    assert "Use a size that is known when the function is traced" in str(warning.message)


def test_strict_raises_tensorflows_error():
    strict = tpu.build(2, strict=True)
    fn = tf.function(lambda: strict.run(lambda: tf.range(tf.random.uniform([], 1, 5, tf.int32))))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Range would not compile"):
        fn()


def test_each_trace_is_checked_once_and_a_call_is_not(strategy, monkeypatch):
    looked = []
    monkeypatch.setattr(XlaChecker, "look_at", lambda *_: looked.append(1))
    step = tf.function(lambda x: strategy.run(lambda y: y + 1, args=(x,)))
    for value in (1.0, 2.0, 3.0):
        step(tf.constant(value))
    assert len(looked) == 1


@pytest.mark.parametrize(
    ("variable", "keywords", "is_on", "is_strict"),
    [
        (None, {}, True, False),
        ("0", {}, False, False),
        ("off", {"xla_check": True}, True, False),
        ("strict", {}, True, True),
        ("1", {"xla_check": False}, False, False),
        ("0", {"strict": True}, True, True),
    ],
)
def test_xla_check_and_strict_come_from_arguments_or_the_environment(
    monkeypatch, variable, keywords, is_on, is_strict
):
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    if variable is not None:
        monkeypatch.setenv(ENVIRONMENT, variable)
    checker = XlaChecker.of(**{"xla_check": None, "strict": None, **keywords})
    assert (checker.is_on, checker.is_strict) == (is_on, is_strict)


def test_random_numbers_are_those_without_the_check():
    drawn = []
    for xla_check in (True, False):
        tf.random.set_seed(7)
        made = tpu.build(2, xla_check=xla_check)
        step = tf.function(lambda m=made: m.run(lambda: tf.random.uniform([3])))
        drawn.append([*made.experimental_local_results(step()), tf.random.uniform([3])])
    for checked, unchecked in zip(*drawn, strict=True):
        assert checked.numpy().tolist() == unchecked.numpy().tolist()


def test_the_registry_has_xlas_kernels():
    ops = kernels.registry()
    assert {"MatMul", "Conv2D", "While", "ResourceApplyAdam"} <= set(ops)
    assert not {"DecodePng", "PyFunc", "PrintV2"} & set(ops)
