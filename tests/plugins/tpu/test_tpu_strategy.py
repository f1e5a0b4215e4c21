"""The rest of the strategy's API: inputs, options, variables, contexts, several steps per call."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from strategy_core import tpu
from tests.plugins.tpu.strategies import copies, make_strategy, results, values

pytestmark = pytest.mark.tf


def test_dynamic_batch_size_and_run_options():
    strategy = make_strategy(2)
    options = tf.distribute.RunOptions(experimental_bucketizing_dynamic_shape=True)

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def run(x):
        return strategy.run(lambda x: tf.reduce_sum(x, 1), args=(x,), options=options)

    for size in (1, 5):
        for output in results(strategy, run(tf.ones([size, 3]))):
            assert output.tolist() == [3.0] * size


def test_sparse_input_prefetched_on_the_host():
    strategy = make_strategy(2)
    sparse = tf.sparse.from_dense(np.eye(4, dtype=np.float32))
    options = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    dataset = tf.data.Dataset.from_tensor_slices(sparse).batch(4)
    run = tf.function(
        lambda x: strategy.run(lambda x: tf.reduce_sum(tf.sparse.to_dense(x)), args=(x,))
    )
    for x in strategy.experimental_distribute_dataset(dataset, options):
        assert results(strategy, run(x)) == [2.0, 2.0]


def test_one_input_pipeline_per_host():
    seen = []

    def dataset_fn(context):
        seen.append((context.num_input_pipelines, context.num_replicas_in_sync))
        return tf.data.Dataset.range(8).batch(context.get_per_replica_batch_size(4))

    strategy = make_strategy(4)
    first = next(iter(strategy.distribute_datasets_from_function(dataset_fn)))
    assert seen == [(1, 4)]
    assert [each.tolist() for each in results(strategy, first)] == [[0], [1], [2], [3]]
    assert strategy.extended.num_hosts == 1
    assert strategy.extended.num_replicas_per_host == 4


def test_run_a_concrete_function_and_a_callable_object():
    strategy = make_strategy(2)

    class Doubler:
        @tf.function
        def __call__(self, x):
            return x * 2

    concrete = tf.function(lambda x: x + 1).get_concrete_function(tf.TensorSpec([], tf.float32))
    assert results(strategy, strategy.run(concrete, args=(tf.constant(1.0),))) == [2, 2]
    assert results(strategy, strategy.run(Doubler(), args=(tf.constant(1.0),))) == [2, 2]
    doubled = strategy.experimental_run_v2(Doubler(), args=(tf.constant(4.0),))
    assert results(strategy, doubled) == [8, 8]


def test_a_traced_function_is_traced_once():
    strategy, traces = make_strategy(4), []

    @tf.function
    def fn(x):
        traces.append(1)
        return x

    for _ in range(3):
        strategy.run(fn, args=(tf.constant(1.0),))
    assert len(traces) == 1


def test_sync_on_read_variable():
    strategy = make_strategy(4)
    with strategy.scope():
        total = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
        )

    def fn():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        total.assign_add(tf.cast(replica, tf.float32))

    tf.function(lambda: strategy.run(fn))()
    assert float(total.read_value()) == 0 + 1 + 2 + 3


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        (tf.VariableAggregation.SUM, 6.0),
        (tf.VariableAggregation.MEAN, 1.5),
        (tf.VariableAggregation.ONLY_FIRST_REPLICA, 0.0),
    ],
)
def test_assignment_is_aggregated(aggregation, expected):
    strategy = make_strategy(4)
    with strategy.scope():
        v = tf.Variable(7.0, aggregation=aggregation)

    def fn():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        v.assign(tf.cast(replica, tf.float32))

    tf.function(lambda: strategy.run(fn))()
    assert copies(v) == [expected] * 4


def test_colocated_variables_and_their_update():
    strategy = make_strategy(2)
    with strategy.scope():
        first = tf.Variable(1.0)
        with strategy.extended.colocate_vars_with(first):
            second = tf.Variable(2.0)
    assert [v.device for v in second.values] == [v.device for v in first.values]
    strategy.extended.update(first, lambda v, other: v.assign_add(other), args=(second,))
    assert copies(first) == [3.0, 3.0]
    assert float(strategy.extended.read_var(first)) == 3.0


def test_broadcast_and_reduce_outside_of_replicas():
    strategy = make_strategy(2)
    with strategy.scope():
        v = tf.Variable(0.0)
        assert float(strategy.extended.broadcast_to(tf.constant(2.0), v)) == 2.0
        given = values(strategy, [1.0, 5.0])
        reduced = strategy.extended.reduce_to("mean", given, v)
        assert results(strategy, reduced) == [3.0, 3.0]
        sums = strategy.extended.batch_reduce_to("sum", [(given, v), (given, v)])
        assert [results(strategy, each) for each in sums] == [[6.0, 6.0]] * 2
        update = strategy.extended.update_non_slot(
            strategy.extended.non_slot_devices([v]), lambda: tf.constant(1)
        )
        assert int(update) == 1


def test_replica_context_devices():
    strategy, seen = make_strategy(4, 2), []

    def fn():
        context = tf.distribute.get_replica_context()
        seen.append(context.devices)
        assert context.num_replicas_in_sync == 4
        with context.experimental_logical_device(1):
            return tf.identity(1.0)

    tf.function(lambda: strategy.run(fn))()
    assert "CORE:0" in seen[0][0]


def test_several_steps_in_one_call():
    strategy = make_strategy(2)
    numbers = tf.data.Dataset.range(12, output_type=tf.int32).batch(2)
    dataset = strategy.experimental_distribute_dataset(numbers)

    def replica_fn(inputs):
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.reduce_sum(inputs) + 100 * replica

    def step(context, inputs):
        own = strategy.extended.call_for_each_replica(replica_fn, args=(inputs,))
        context.set_last_step_output("sum", own, "SUM")
        context.set_last_step_output("own", own)

    context = strategy.extended.experimental_run_steps_on_iterator(step, iter(dataset), 5)
    assert int(context.last_step_outputs["sum"]) == 8 + 109
    assert results(strategy, context.last_step_outputs["own"]) == [8, 109]
    assert strategy.steps_per_run == 1


def test_collectives_inside_loops_and_branches():
    strategy = make_strategy(4)

    def fn():
        context = tf.distribute.get_replica_context()
        mine = tf.cast(context.replica_id_in_sync_group, tf.float32)

        def body(i, x):
            return i + 1, context.all_reduce("mean", x) + mine

        _, looped = tf.while_loop(lambda i, _: i < 3, body, (0, mine))
        chosen = tf.cond(
            tf.constant(True), lambda: context.all_reduce("sum", mine), lambda: tf.zeros([])
        )
        return looped, chosen

    looped, chosen = tf.function(lambda: strategy.run(fn))()
    x = np.arange(4.0)
    for _ in range(3):
        x = x.mean() + np.arange(4.0)
    np.testing.assert_allclose(results(strategy, looped), x)
    assert results(strategy, chosen) == [6.0] * 4
    assert any(each.in_loop for each in strategy.extended.last_expansion.collectives)


def test_each_replica_may_leave_a_loop_after_a_different_number_of_iterations():
    strategy = make_strategy(4)

    def fn():
        limit = tf.distribute.get_replica_context().replica_id_in_sync_group + 1
        return tf.while_loop(lambda i: i < limit, lambda i: (i + 1,), (0,))[0]

    assert results(strategy, tf.function(lambda: strategy.run(fn))()) == [1, 2, 3, 4]


def test_replicas_draw_different_numbers():
    tf.random.set_seed(5)
    strategy = make_strategy(4)
    drawn = results(strategy, tf.function(lambda: strategy.run(lambda: tf.random.normal([4])))())
    assert len({tuple(each) for each in drawn}) == 4


def test_a_custom_gradient_inside_a_function_is_applied():
    strategy = make_strategy(2)

    @tf.custom_gradient
    def clipped(x):
        return x, lambda dy: tf.clip_by_value(dy, -1.0, 1.0)

    @tf.function
    def inner(x):
        return clipped(x) * 3.0

    @tf.function
    def fn(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x)
        return tape.gradient(y, x)

    assert results(strategy, strategy.run(fn, args=(tf.constant(2.0),))) == [1.0, 1.0]


def test_lookup_table():
    strategy = make_strategy(2)
    with strategy.scope():
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2]), tf.constant([10, 20])), -1
        )
    run = tf.function(lambda x: strategy.run(table.lookup, args=(x,)))
    assert [each.tolist() for each in results(strategy, run(tf.constant([2, 3])))] == [[20, -1]] * 2


def test_run_returns_none_and_nested_structures():
    strategy = make_strategy(2)
    assert tf.function(lambda: strategy.run(lambda: None))() is None
    nested = tf.function(lambda: strategy.run(lambda: {"a": (tf.constant(1), [tf.constant(2)])}))()
    assert results(strategy, nested["a"][1][0]) == [2, 2]


def test_system_calls():
    resolver = tpu.TPUClusterResolver.connect()
    assert resolver.master() == ""
    assert resolver.num_accelerators() == {"TPU": 8}
    metadata = resolver.get_tpu_system_metadata()
    assert (metadata.num_cores, metadata.num_hosts, metadata.num_of_cores_per_host) == (8, 1, 8)
    assert metadata.devices[3].name.endswith("device:TPU:3")

    @tf.function
    def serialized():
        return tpu.initialize_tpu_system(resolver)

    topology = tpu.Topology(serialized=serialized().numpy())
    assert topology.mesh_shape.tolist() == [1, 2, 2, 2]
    tpu.shutdown_tpu_system(resolver)
    assert tpu.initialize_tpu_system().num_tpus_per_task == 8
