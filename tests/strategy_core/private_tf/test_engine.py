"""What the lab borrows from inside TensorFlow and Keras is still there, and still does its work."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest

from tests.timeouts import MAX_WAIT_S

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


def test_mirrored_strategy_still_has_its_collective_key_base() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import engine as private_tf

    assert tf.distribute.MirroredStrategy._collective_key_base == 0
    first = private_tf.mirrored_strategy(["CPU:0", "CPU:1"])
    second = private_tf.mirrored_strategy(["CPU:0", "CPU:1"])
    keys = [strategy.extended._collective_keys._group_key for strategy in (first, second)]
    assert keys[1] >= keys[0] + private_tf._KEYS_PER_STRATEGY, (
        "TensorFlow no longer takes its collective group keys from _collective_key_base"
    )


def test_eager_seeds_tell_that_an_op_drew_from_the_global_seed() -> None:
    import keras
    import tensorflow as tf

    from strategy_core.private_tf import engine as private_tf

    keras.utils.set_random_seed(3)
    seeds = private_tf.eager_seeds()
    keras.layers.Dense(3).build((None, 2))
    assert private_tf.eager_seeds() == seeds, "Keras' initializers have seeds of their own"
    tf.random.normal((2,))
    assert private_tf.eager_seeds() != seeds, "TensorFlow keeps its eager seeds somewhere else"


def test_communication_options_reach_every_collective_of_a_strategy() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import engine as private_tf

    options = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=123)
    strategy = private_tf.mirrored_strategy(["CPU:0", "CPU:1"], options=options)
    assert strategy.extended._communication_options.bytes_per_pack == 123


def test_a_mirrored_strategy_reduces_by_what_it_is_given_later() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import engine as private_tf

    strategy = private_tf.mirrored_strategy(["CPU:0", "CPU:1"])
    stock = strategy.extended._get_cross_device_ops(tf.constant(0.0))
    one_device = tf.distribute.ReductionToOneDevice()
    private_tf.reduce_by(strategy, one_device, None)
    cross_device_ops = strategy.extended._get_cross_device_ops(tf.constant(0.0))
    assert cross_device_ops is one_device, "MirroredStrategy no longer asks _cross_device_ops"
    options = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=123)
    for given, expected in ((options, 123), (None, 0)):
        private_tf.reduce_by(strategy, None, given)
        assert strategy.extended._get_cross_device_ops(tf.constant(0.0)) is stock
        assert strategy.extended._communication_options.bytes_per_pack == expected


def test_a_keras_optimizer_asks_the_replaced_all_reduce() -> None:
    import keras
    import tensorflow as tf

    from strategy_core.private_tf import engine as private_tf

    weight = keras.Variable([1.0, 2.0])
    optimizer = keras.optimizers.SGD(1.0)
    optimizer.build([weight])
    private_tf.replace_all_reduce(optimizer, lambda pairs: [(10.0 * g, v) for g, v in pairs])
    optimizer.apply([tf.constant([1.0, 1.0])], [weight])
    assert weight.numpy().tolist() == [-9.0, -8.0]


def test_unordered_ops_run_side_by_side_and_ordered_ones_do_not() -> None:
    import tensorflow as tf

    from strategy_core.private_tf import engine as private_tf

    def do_threads_meet(unordered: bool, max_wait_s: float) -> bool:
        both = threading.Barrier(2)

        def meet() -> float:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(max_wait_s)
            return 0.0

        @tf.function(autograph=False)
        def two() -> list[tf.Tensor]:
            met = [tf.numpy_function(meet, [], tf.float64) for _ in range(2)]
            return [private_tf.run_unordered(each) for each in met] if unordered else met

        two()
        return not both.broken

    assert not do_threads_meet(unordered=False, max_wait_s=0.1)
    assert do_threads_meet(unordered=True, max_wait_s=MAX_WAIT_S)


def test_a_profiler_session_of_ones_own_leaves_a_capture(tmp_path: Path) -> None:
    import tensorflow as tf

    from strategy_core.private_tf import engine as private_tf

    session = private_tf.profiler_session()
    session.start(str(tmp_path), {})
    tf.constant(1.0) + tf.constant(2.0)
    session.export_to_tb()
    assert list(tmp_path.rglob("*.xplane.pb"))


def test_the_runtime_tells_whether_it_has_a_profiler_session(tmp_path: Path) -> None:
    from strategy_core.private_tf import engine as private_tf

    assert not private_tf.has_profiler_session()
    session = private_tf.profiler_session()
    session.start(str(tmp_path), {})
    assert private_tf.has_profiler_session()
    session.export_to_tb()
    assert not private_tf.has_profiler_session()


@pytest.mark.parametrize("left_out", [False, True])
def test_events_of_thread_pools_can_be_left_out_of_a_capture(
    tmp_path: Path, left_out: bool
) -> None:
    import tensorflow as tf

    from strategy_core.private_tf import engine as private_tf

    session = private_tf.profiler_session()
    session.start(str(tmp_path), {})
    if left_out:
        assert private_tf.leave_out_thread_pool_events(), "tsl::tracing::SetEventCollector is gone"
    many = tf.ones([200, 200])
    sum(tf.data.Dataset.range(50).map(lambda n: n + 1, num_parallel_calls=2).as_numpy_iterator())
    tf.matmul(many, many)
    session.export_to_tb()
    capture = next(tmp_path.rglob("*.xplane.pb")).read_bytes()
    assert (b"ThreadpoolListener" not in capture) is left_out
    assert b"MatMul" in capture


def test_distributed_iterators_end_at_once_for_they_have_no_tuning_thread() -> None:
    """The thread is `tf.data`'s model; each part of an iterator would have one."""
    import psutil
    import tensorflow as tf

    from strategy_core.private_tf import engine as private_tf
    from strategy_core.training import input_pipeline
    from strategy_core.training.workload import load
    from strategy_profiles.spec.run_spec import RunSpec

    spec = RunSpec(devices="cpu:4", workload="digits-mlp", global_batch_size=8)
    strategy = private_tf.mirrored_strategy([f"CPU:{index}" for index in range(4)])
    dataset, _ = input_pipeline.global_batches(spec, load("digits-mlp"), 0)

    def num_threads(iterator: object) -> int:
        next(iterator)  # type: ignore[call-overload]
        return psutil.Process().num_threads()

    before = psutil.Process().num_threads()
    ours = num_threads(input_pipeline.distributed(strategy, dataset)) - before
    stock_data = input_pipeline.with_shares(dataset).prefetch(2)
    stock = num_threads(iter(strategy.experimental_distribute_dataset(stock_data))) - before
    assert ours < stock, "multi_device_iterator_ops._create_device_dataset is no longer asked"
    assert tf.distribute.get_strategy() is not strategy


def test_the_coordination_service_takes_a_heartbeat_timeout() -> None:
    """`watch_peers` has no public way to it."""
    import inspect

    from tensorflow.python.distribute import multi_worker_util
    from tensorflow.python.distribute.collective_all_reduce_strategy import coordination_config_pb2
    from tensorflow.python.eager import context

    taken = inspect.signature(context.Context.configure_coordination_service).parameters
    assert {"service_type", "service_leader", "heartbeat_timeout_in_ms", "coordinated_jobs"} <= set(
        taken
    )
    job = coordination_config_pb2.CoordinatedJob(name="worker", num_tasks=2)
    assert (job.name, job.num_tasks) == ("worker", 2)
    cluster = multi_worker_util.normalize_cluster_spec({"worker": ["a:1", "b:1"]})
    assert multi_worker_util.coordination_leader(cluster) == "/job:worker/replica:0/task:0"


def test_a_remote_value_tells_whether_it_is_there() -> None:
    """`is_there` has no public way to it."""
    from tensorflow.python.distribute.coordinator.values import RemoteValueImpl

    from strategy_core.private_tf import engine as private_tf

    value = RemoteValueImpl(None, None)
    assert not private_tf.is_there(value)
    value._set_error(ValueError("no such op"))
    assert private_tf.is_there(value)
    with pytest.raises(ValueError, match="no such op"):
        value.fetch()
