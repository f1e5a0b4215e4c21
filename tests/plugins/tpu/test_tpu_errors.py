"""What TensorFlow documents as an error is that error, with its text, before anything runs."""

from __future__ import annotations

import pytest
import tensorflow as tf

from strategy_core import tpu
from strategy_profiles.errors import LabError
from strategy_tpu import mesh
from tests.plugins.tpu.strategies import make_strategy

pytestmark = pytest.mark.tf


def test_pure_eager_execution():
    with pytest.raises(NotImplementedError, match="does not support pure eager execution"):
        make_strategy(2).run(lambda: tf.constant(1))


def test_a_core_that_does_not_exist_is_refused():
    strategy = make_strategy(4, 2)
    with pytest.raises(ValueError, match="`logical_core_id` to assign must be lower then total"):
        strategy.experimental_assign_to_logical_device(tf.ones([2]), 2)
    with (
        pytest.raises(ValueError, match="`logical_device_id` not in range"),
        strategy.extended.experimental_logical_device(2),
    ):
        pass


def test_assignment_in_spmd_mode():
    with pytest.raises(ValueError, match="Cannot assign a tensor to a logical device in SPMD mode"):
        make_strategy(4, 2, spmd=True).experimental_assign_to_logical_device(tf.ones([2]), 0)


@pytest.mark.parametrize(
    ("shape", "split", "message"),
    [
        ([2, 4], [1, 2, 1], "Length of `partition_dimensions` must equal to the rank"),
        ([2, 5], [1, 2], "must be divisible by corresponding value specified"),
        ([2, 4, 8, 4], [1, 2, 4, 1], "should be the same as the number of logical devices"),
    ],
)
def test_an_invalid_split_is_refused(shape, split, message):
    with pytest.raises(ValueError, match=message):
        make_strategy(4, 2).experimental_split_to_logical_devices(tf.ones(shape), split)


def test_more_replicas_than_fit():
    topology = tpu.initialize_tpu_system(tpu.TPUClusterResolver(tpu=""))
    with pytest.raises(ValueError, match="fit"):
        tpu.DeviceAssignment.build(topology, computation_shape=[1, 1, 1, 2], num_replicas=5)


@pytest.mark.parametrize("shape", [(2, 2), (0, 1, 1, 1)])
def test_an_impossible_topology_is_refused(shape):
    with pytest.raises(ValueError, match="four axes") as caught:
        tpu.TPUClusterResolver(tpu="", topology_shape=shape)
    assert isinstance(caught.value, LabError)


def test_a_topology_larger_than_the_machine():
    with pytest.raises(ValueError, match="needs 32 devices; TensorFlow has 8 logical devices"):
        tpu.initialize_tpu_system(tpu.TPUClusterResolver(tpu="", topology_shape=(4, 2, 2, 2)))


@pytest.mark.parametrize("name", ["initialize_tpu_system", "shutdown_tpu_system"])
def test_the_set_up_functions_of_tensorflow_name_those_of_the_emulation(name):
    """They ended in "No OpKernel was registered", for an op that the program does not have."""
    with pytest.raises(ValueError, match=f"Call strategy_core.tpu.{name}\\(resolver\\) instead"):
        getattr(tf.tpu.experimental, name)(tpu.TPUClusterResolver(tpu=""))
    assert callable(getattr(tpu, name))


def test_too_few_cores_once_tensorflow_runs():
    with pytest.raises(ValueError, match="Call configure_virtual_cores before"):
        tpu.configure_virtual_cores(16)


def test_existing_logical_devices_become_the_cores():
    assert len(tpu.configure_virtual_cores(8)) == 8


def test_static_shapes_only():
    strategy = make_strategy(2)
    options = tf.distribute.RunOptions(experimental_enable_dynamic_batch_size=False)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def run(x):
        return strategy.run(tf.identity, args=(x,), options=options)

    with pytest.raises(ValueError, match="only inputs of static shape are allowed"):
        run.get_concrete_function()


def test_sparse_input_is_not_fetched_to_devices():
    sparse = tf.sparse.from_dense([[1, 0], [0, 1]])
    dataset = tf.data.Dataset.from_tensor_slices(sparse).batch(2)
    with pytest.raises(ValueError, match="experimental_fetch_to_device set to False"):
        make_strategy(2).experimental_distribute_dataset(dataset)


def test_replication_per_replica():
    options = tf.distribute.InputOptions(
        experimental_fetch_to_device=False,
        experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA,
    )
    with pytest.raises(NotImplementedError, match="PER_REPLICA"):
        make_strategy(2).experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2), options)


def test_annotations_that_the_emulation_does_not_know_say_so():
    from strategy_tpu import private_tf

    strategy = make_strategy(4, 2)

    @tf.function
    def run():
        def fn():
            kind = private_tf.OpSharding
            manual = private_tf.xla_sharding.Sharding(kind(type=kind.MANUAL))
            return manual.apply_to_tensor(tf.ones([2]), use_sharding_op=True)

        return strategy.run(fn)

    with pytest.raises(NotImplementedError, match="no XLA sharding of type MANUAL"):
        run()


def test_chips_form_the_mesh_that_is_described():
    assert [mesh.default_shape(n) for n in (1, 2, 4, 6, 8, 32)] == [
        (1, 1, 1, 1),
        (1, 1, 1, 2),
        (1, 1, 2, 2),
        (3, 1, 1, 2),
        (1, 2, 2, 2),
        (4, 2, 2, 2),
    ]
    assert mesh.computation_shape((1, 2, 2, 2), 4) == (1, 1, 2, 2)
    assert mesh.computation_shape((3, 1, 1, 2), 3) == (3, 1, 1, 1)
    with pytest.raises(ValueError, match="Replicas of 3 cores cannot tile"):
        mesh.computation_shape((1, 2, 2, 2), 3)
    with pytest.raises(ValueError, match="0 cores make no TPU"):
        mesh.default_shape(0)
    with pytest.raises(ValueError, match="3 cores cannot be shared equally among 2 hosts"):
        mesh.Mesh((1, 1, 1, 3), num_tasks=2)
