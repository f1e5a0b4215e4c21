"""Programs that a TPU runs, or refuses in words, do the same here."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tensorflow as tf

from strategy_core import tpu
from strategy_tpu import mesh, private_tf
from strategy_tpu.system_state import State, set_state
from tests.plugins.tpu.strategies import make_strategy, results, values
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.tf


def _in_a_new_process(code: str, *, timeout_s: float = MAX_WAIT_S) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


def test_ctc_loss_and_its_gradient():
    logits = tf.reshape(tf.range(16, dtype=tf.float32) / 7, [4, 1, 4])

    def loss_and_gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.nn.ctc_loss([[1, 2]], x, [2], [4], blank_index=0)
        return loss, tape.gradient(loss, x)

    strategy = make_strategy(2)
    expected = tf.function(loss_and_gradient)(logits)
    outputs = tf.function(lambda x: strategy.run(loss_and_gradient, args=(x,)))(logits)
    for value, by_replica in zip(expected, outputs, strict=True):
        for each in results(strategy, by_replica):
            np.testing.assert_allclose(each, value)


def test_a_smaller_last_batch_is_gathered():
    strategy = make_strategy(2)
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(7).batch(4))
    predict = tf.function(lambda batch: strategy.run(lambda x: x * 2, args=(batch,)))
    gathered = [strategy.gather(predict(batch), axis=0).numpy().tolist() for batch in dataset]
    assert gathered == [[0, 2, 4, 6], [8, 10, 12]]


def test_jit_compile_around_run_has_no_effect():
    strategy = make_strategy(2)
    with strategy.scope():
        variable = tf.Variable(1.0)
        mean = tf.keras.metrics.Mean()

    def train(x):
        with tf.GradientTape() as tape:
            loss = variable * x * variable
        gradient = tape.gradient(loss, variable)
        context = tf.distribute.get_replica_context()
        variable.assign_sub(0.1 * context.all_reduce("sum", gradient))
        mean.update_state(loss)
        tf.print("loss", loss, output_stream=sys.stderr)
        return loss

    @tf.function(jit_compile=True)
    def step(x):
        return strategy.run(train, args=(x,))

    assert results(strategy, step(tf.constant(2.0))) == [2.0, 2.0]
    assert variable.numpy() == pytest.approx(0.2)
    assert mean.result().numpy() == 2.0


@pytest.mark.parametrize("name", ["TPUStrategy", "experimental.TPUStrategy"])
def test_tensorflows_own_strategy_on_emulated_cores_is_refused(name):
    resolver = tpu.TPUClusterResolver("")
    tpu.initialize_tpu_system(resolver)
    stock = tf.distribute
    for part in name.split("."):
        stock = getattr(stock, part)
    with pytest.raises(ValueError, match=r"Create strategy_core\.tpu\.TPUStrategy"):
        stock(resolver)
    assert tpu.TPUStrategy(resolver).num_replicas_in_sync == 8
    assert resolver.get_tpu_system_metadata().num_cores == 8


def test_a_tpu_name_gives_the_mesh_of_the_real_tpu():
    assert mesh.named_shape("v3-8") == (2, 2, 1, 2)
    assert mesh.named_shape("v5litepod-8") == (2, 4, 1, 1)
    assert mesh.named_shape((1, 2, 2, 2)) == (1, 2, 2, 2)
    with pytest.raises(ValueError, match="No TPU named 'v9-8'"):
        tpu.TPUClusterResolver("", topology_shape="v9-8")
    resolver = tpu.TPUClusterResolver("", topology_shape="v3-8")
    topology = tpu.initialize_tpu_system(resolver)
    fitting = tpu.DeviceAssignment.build(topology, computation_shape=[2, 2, 1, 2])
    assert fitting.num_cores_per_replica == 8


def test_a_shape_for_another_mesh_is_pointed_to_the_topology():
    topology = tpu.initialize_tpu_system(tpu.TPUClusterResolver(""))
    with pytest.raises(ValueError, match=r"topology_shape.*'v3-8'"):
        tpu.DeviceAssignment.build(topology, computation_shape=[2, 2, 1, 2])


def test_arguments_of_unknown_rank_are_refused():
    strategy = make_strategy(2)

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
    def step(x):
        return strategy.run(tf.reduce_sum, args=(x,))

    with pytest.raises(ValueError, match="has unknown rank, which is not allowed"):
        step.get_concrete_function()


@pytest.fixture
def messages():
    seen: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    tf.get_logger().addHandler(handler)
    yield seen
    tf.get_logger().removeHandler(handler)


def test_a_second_initialization_warns(messages):
    resolver = tpu.TPUClusterResolver("")
    set_state(resolver.system_name, State.NEW)
    tpu.initialize_tpu_system(resolver)
    assert messages == []
    tpu.initialize_tpu_system(resolver)
    (message,) = messages
    assert "has already been initialized" in message


def test_a_step_after_shutdown_and_a_strategy_without_a_system_warn(messages):
    strategy = make_strategy(2)
    resolver = strategy.cluster_resolver
    tpu.shutdown_tpu_system(resolver)
    with pytest.warns(tpu.TPUProgramWarning, match="was shut down; on a TPU, this step fails"):
        strategy.run(tf.function(lambda: tf.constant(1)))
    set_state(resolver.system_name, State.NEW)
    with pytest.warns(tpu.TPUProgramWarning, match="has not been initialized"):
        tpu.TPUStrategy(resolver)
    tpu.shutdown_tpu_system(resolver)
    assert "has not been initialized" in messages[-1]
    tpu.initialize_tpu_system(resolver)


def test_a_warning_says_if_no_virtual_cores_were_configured():
    output = _in_a_new_process(
        """
        from strategy_core import tpu
        tpu.initialize_tpu_system(tpu.TPUClusterResolver(""))
        """
    )
    assert "The emulated TPU has 1 core" in output
    assert "configure_virtual_cores(8)" in output


@pytest.mark.long(keep=1)
@pytest.mark.parametrize("kind", ["emulated", "mirrored"])
def test_an_iterator_made_in_the_function_does_not_hang(kind):
    """With a thread for each of two CPUs alone, all wait for a batch that nothing can make."""
    _in_a_new_process(
        f"""
        import os
        import tensorflow as tf
        from strategy_core import tpu
        os.cpu_count = lambda: 2
        tpu.configure_virtual_cores(2)
        assert tf.config.threading.get_inter_op_parallelism_threads() == 4
        if {kind!r} == "emulated":
            strategy = tpu.build(2)
        else:
            reduction = tf.distribute.ReductionToOneDevice()
            strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"], reduction)
        for _ in range(5):
            @tf.function
            def train(dataset):
                iterator = iter(dataset)
                return [strategy.run(tf.square, args=(next(iterator),)) for _ in range(2)]
            data = tf.data.Dataset.from_tensor_slices([0.0, 1.0, 2.0, 3.0]).batch(2)
            train(strategy.experimental_distribute_dataset(data))
        """
    )


def test_a_programs_own_number_of_threads_stays():
    _in_a_new_process(
        """
        import tensorflow as tf
        from strategy_core import tpu
        tf.config.threading.set_inter_op_parallelism_threads(3)
        tpu.configure_virtual_cores(8)
        assert tf.config.threading.get_inter_op_parallelism_threads() == 3
        """
    )


def test_manual_partitioning_is_refused():
    strategy = make_strategy(4, 2, spmd=True)
    sharding = private_tf.xla_sharding.Sharding.tile(np.array([[0], [1]]))

    @tf.function
    def step():
        return strategy.run(
            lambda: private_tf.xla_sharding.auto_to_manual_spmd_partition(
                tf.ones([2, 2]), sharding.proto.SerializeToString()
            )
        )

    with pytest.raises(NotImplementedError, match="no manual partitioning"):
        step()


def test_outside_compilation_that_maps_over_shards_is_refused():
    from tensorflow.python.tpu import tpu_replication

    strategy = make_strategy(4, 2, spmd=True)

    @tf.function
    def step(x):
        def fn(x):
            split = strategy.experimental_split_to_logical_devices(x, [2, 1])
            return tpu_replication.experimental_map_outside_compilation(tf.nn.l2_normalize, split)

        return strategy.run(fn, args=(x,))

    with pytest.raises(NotImplementedError, match=r"Use tf\.tpu\.outside_compilation"):
        step(tf.ones([2, 2]))


def test_the_switch_for_packed_variables_has_no_effect():
    strategy = make_strategy(2)
    strategy._enable_packed_variable_in_eager_mode = True
    with strategy.scope():
        variable = tf.Variable(1.0, synchronization=tf.VariableSynchronization.ON_READ)
    step = tf.function(lambda x: strategy.run(variable.assign, args=(x,)))
    step(values(strategy, [3.0, 4.0]))
    assert [copy.numpy() for copy in variable.values] == [3.0, 4.0]


@pytest.mark.parametrize("name", ["TPUEmbedding", "TPUEmbeddingV2"])
def test_embedding_hardware_is_refused_in_a_sentence(name):
    strategy = make_strategy(2)
    embedding = tf.tpu.experimental.embedding
    table = embedding.TableConfig(16, 8)
    with (
        strategy.scope(),
        pytest.raises(NotImplementedError, match=r"no embedding hardware.*layers\.Embedding"),
    ):
        getattr(embedding, name)({"a": embedding.FeatureConfig(table)}, embedding.SGD(0.1))


def test_tables_are_served_outside_of_the_scope():
    embedding = tf.tpu.experimental.embedding
    table = embedding.TableConfig(16, 8, initializer=tf.keras.initializers.Ones())
    served = embedding.TPUEmbeddingForServing({"a": embedding.FeatureConfig(table)}, None)
    served.build()
    values = served({"a": tf.constant([[0], [1]])})["a"].numpy()
    assert values.reshape(-1, 8).tolist() == [[1.0] * 8] * 2
