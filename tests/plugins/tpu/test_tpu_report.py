"""What an expansion reports: bytes of collectives and copies, fallbacks, names to join on."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from strategy_core import tpu
from strategy_profiles.tables.schema import TABLES
from tests.plugins.tpu.strategies import make_strategy

pytestmark = pytest.mark.tf

FLOAT = 4


def _report(strategy, fn, *args):
    run = tf.function(lambda *given: strategy.run(fn, args=given))
    run(*[tf.constant(each) for each in args])
    return strategy.extended.last_expansion, run


def test_an_all_reduce_among_replicas():
    strategy = make_strategy(4)
    report, run = _report(
        strategy,
        lambda x: tf.distribute.get_replica_context().all_reduce("sum", x),
        np.ones((3, 5), np.float32),
    )
    (collective,) = report.collectives
    assert (collective.op, collective.group_size, collective.bytes) == ("all-reduce", 4, 15 * FLOAT)
    assert collective.moved_bytes == 2 * 3 * 15 * FLOAT
    assert collective.devices == tuple(strategy.extended.worker_devices)
    nodes = {op.name for op in run.get_concrete_function(tf.ones((3, 5))).graph.get_operations()}
    assert set(collective.nodes) <= nodes
    assert report.moved_bytes() == {"collective": 2 * 3 * 15 * FLOAT}


def test_a_halo_exchange_moves_rows_over_every_edge():
    strategy = make_strategy(1, 4, spmd=True)
    image, kernel = np.ones((2, 8, 8, 3), np.float32), np.ones((3, 3, 3, 4), np.float32)

    def fn(x):
        x = strategy.experimental_split_to_logical_devices(x, [1, 4, 1, 1])
        return tf.reduce_sum(tf.nn.conv2d(x, kernel, 1, "SAME"))

    report, _ = _report(strategy, fn, image)
    row = 2 * 8 * 3 * FLOAT
    moved = report.moved_bytes()
    assert moved["halo-exchange"] == 2 * 3 * row  # a row each way over three edges
    assert moved["scatter"] == 3 * 2 * row  # three cores are sent their two rows
    assert moved["all-reduce"] == 2 * 3 * FLOAT
    (halo,) = [each for each in report.collectives if each.op == "halo-exchange"]
    assert halo.moved_bytes == moved["halo-exchange"]
    assert halo.group_size == 4
    assert report.fallbacks == []


def test_column_then_row_split_matmuls_communicate_once():
    strategy = make_strategy(1, 4, spmd=True)
    x, a, b = (
        np.ones((2, 8), np.float32),
        np.ones((8, 12), np.float32),
        np.ones((12, 8), np.float32),
    )

    def fn(x):
        split = strategy.experimental_split_to_logical_devices
        x = strategy.experimental_replicate_to_logical_devices(x)
        hidden = tf.nn.relu(x @ split(tf.constant(a), [1, 4]))
        return tf.reduce_sum(hidden @ split(tf.constant(b), [4, 1]))

    report, _ = _report(strategy, fn, x)
    assert [each.op for each in report.collectives] == ["broadcast", "all-reduce"]
    assert report.moved_bytes()["all-reduce"] == 2 * 3 * 2 * 8 * FLOAT
    assert report.fallbacks == []


def test_a_fallback_names_the_op_the_reason_and_the_bytes():
    strategy = make_strategy(2, 2, spmd=True)

    def fn(x):
        x = strategy.experimental_split_to_logical_devices(x, [2, 1])
        return tf.linalg.diag_part(x)

    report, _ = _report(strategy, fn, np.ones((4, 4), np.float32))
    ((op, reason, count, size),) = report.fallback_table()
    assert (op, reason, count) == ("MatrixDiagPartV3", "no partitioning rule", 2)
    assert size == 2 * 16 * FLOAT
    assert {each.replica for each in report.fallbacks} == {0, 1}


def test_bytes_that_only_the_step_knows_are_unknown():
    strategy = make_strategy(2)
    run = tf.function(
        lambda x: strategy.run(
            lambda x: tf.distribute.get_replica_context().all_reduce("sum", x), args=(x,)
        ),
        input_signature=[tf.TensorSpec([None])],
    )
    run(tf.ones([3]))
    (collective,) = strategy.extended.last_expansion.collectives
    assert collective.bytes is None
    assert collective.moved_bytes is None


def test_rows_for_the_tables_of_a_run():
    strategy = make_strategy(2, 2, spmd=True)

    def fn(x):
        x = strategy.experimental_split_to_logical_devices(x, [1, 2])
        total = tf.reduce_sum(x)
        return tf.distribute.get_replica_context().all_reduce("sum", total)

    report, _ = _report(strategy, fn, np.ones((4, 4), np.float32))
    rows = tpu.collective_rows(report)
    within = [row for row in rows if row["op"] == "all-reduce" and row["replica"] == 1]
    assert {row["core"] for row in within} == {0, 1}
    assert {row["bytes"] for row in within} == {FLOAT}
    own = {"core", "in_loop"}
    assert set(rows[0]) - own <= set(TABLES["collectives"].names)
    sent = tpu.transfer_rows(report)
    assert set(sent[0]) - {"reason", "in_loop"} <= set(TABLES["transfers"].names)
    assert sum(row["bytes"] for row in sent) == sum(report.moved_bytes().values())
