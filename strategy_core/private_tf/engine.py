"""The one home of private TensorFlow and Keras API: why each is needed, and a test that it holds.

`tests/strategy_core/private_tf/test_engine.py` fails by name when a TensorFlow release changes one.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.data.ops import multi_device_iterator_ops

Pair = tuple[Any, Any]
"""A gradient and its variable."""

_KEYS_PER_STRATEGY = 16
"""A strategy takes one group key for its devices and seldom another for a part of them."""

_next_key_base = itertools.count(0, _KEYS_PER_STRATEGY)


def mirrored_strategy(
    devices: Sequence[str],
    cross_device_ops: Any = None,
    options: Any = None,
) -> tf.distribute.MirroredStrategy:
    """A MirroredStrategy whose collectives share no key with any other's in this process.

    Every stock MirroredStrategy numbers its collective groups from 1 and their instances from
    100, so the second one in a process meets the first one's instances and aborts with "Shape
    mismatch in the collective instance". TensorFlow keeps `_collective_key_base` for its own
    tests to set them apart; there is no public way.

    Args:
      devices: full or partial device names, one per replica.
      cross_device_ops: a public `tf.distribute.CrossDeviceOps`; None for collectives.
      options: `tf.distribute.experimental.CommunicationOptions` for every collective of the
        strategy. Public API takes them per `all_reduce` call only, where Keras gives none.
    """
    key_base = next(_next_key_base)

    class MirroredStrategy(tf.distribute.MirroredStrategy):
        _collective_key_base = key_base

    strategy = MirroredStrategy(list(devices), cross_device_ops)
    strategy.extended._stock_communication_options = strategy.extended._communication_options
    reduce_by(strategy, cross_device_ops, options)
    return strategy


def reduce_by(strategy: Any, cross_device_ops: Any, options: Any) -> None:
    """Have a strategy from `mirrored_strategy` reduce as if it had been made with these.

    What was traced before stays as it is. A stock strategy is given its algorithm once, and model
    and optimizer belong to it: for another one, all of their variables would be made again.
    """
    extended = strategy.extended
    extended._cross_device_ops = cross_device_ops or extended._collective_ops
    stock = extended._stock_communication_options
    extended._communication_options = stock if options is None else stock.merge(options)


def eager_seeds() -> Any:
    """A value that is another one once an eager op has drawn from TensorFlow's global seed.

    To set that seed again costs every kernel that eager ops and steps have, and is needless where
    nothing drew from it. Nothing public tells.
    """
    from tensorflow.python.eager import context

    generator = getattr(context.context(), "_rng", None)  # none before the first seed
    return None if generator is None else generator.getstate()


@contextmanager
def iterators_without_autotune() -> Iterator[None]:
    """Distributed iterators created inside get no tuning thread of tf.data on their devices.

    The end of such a thread is announced before the flag that it looks at is set
    (`CancellationManager::StartCancel`): on a busy machine it misses that, sleeps on for up to a
    minute, and whoever drops the iterator waits for it with Python's lock held. A data set's
    options keep the thread from the host's part, but nothing public reaches the devices' parts.
    """
    stock = multi_device_iterator_ops._create_device_dataset
    options = tf.data.Options()
    options.autotune.enabled = False

    def create(*args: Any, **kwargs: Any) -> Any:
        return stock(*args, **kwargs).with_options(options)

    multi_device_iterator_ops._create_device_dataset = create
    try:
        yield
    finally:
        multi_device_iterator_ops._create_device_dataset = stock


def replace_all_reduce(optimizer: Any, all_reduce: Callable[[list[Pair]], Sequence[Pair]]) -> None:
    """Put `all_reduce` in the place of the one that a Keras optimizer does inside `apply`.

    It is given the (gradient, variable) pairs in a replica's context and returns them reduced.
    Keras 3 dropped `skip_gradients_aggregation`: without this, an all-reduce in the open, the
    lesson of `step.py`, would be done twice, and a delay could not come before it. As a bonus,
    clipping acts on the gradient of the global batch, as it does on one device.
    """
    optimizer._all_reduce_sum_gradients = all_reduce


def stock_all_reduce(optimizer: Any, pairs: Iterable[Pair]) -> list[Pair]:
    """The all-reduce that a Keras optimizer does when nobody replaced it."""
    return list(type(optimizer)._all_reduce_sum_gradients(optimizer, list(pairs)))


INDEPENDENT = "_independent_side_effects"
"""Attribute of ops that `run_unordered` was called for."""


def run_unordered(tensor: tf.Tensor) -> tf.Tensor:
    """The same tensor, its stateful op freed from the program order of the graph being built.

    In a `tf.function` every stateful op without a resource (a timestamp, a sleep) runs after the
    one that was created before it, in whichever replica that was: the replicas would take turns,
    and their timestamps would show it. `AutomaticControlDependencies` lets ops be excepted.
    """
    if tf.executing_eagerly():
        return tensor
    manager = getattr(tensor.graph, "experimental_acd_manager", None)
    if manager is not None:
        manager.run_independently(tensor.op)
    else:  # a graph that another one will be made from: the mark is taken over from the op
        value = tf.compat.v1.AttrValue(b=True)
        tensor.op._set_attr(INDEPENDENT, value)
    return tensor


def profiler_session() -> Any:
    """A profiler session of one's own, with `start(folder, options)` and `export_to_tb()`.

    `tf.profiler.experimental.stop` returns when a capture is converted and written, and only then
    lets the next one start: about 3 ms per captured step, most of a short step's cost. The runtime
    itself allows the next session as soon as it has taken the events out of the last one. There is
    no public way to begin it then.
    """
    from tensorflow.python.profiler.internal import _pywrap_profiler

    return _pywrap_profiler.ProfilerSession()


def leave_out_thread_pool_events() -> bool:
    """Keep the events of thread pools out of the capture that was just started.

    Whatever `ProfilerOptions` say, TensorFlow 2.21 records every closure that a thread pool is
    given, begins and ends: 60 % of the events of short steps, which no number of the lab is made
    of, and most of what a capture costs. No option and no public call leaves them out. The runtime
    itself switches them on and off with a plain function that its library exports; the profiler's
    own stop does so once more.

    Returns whether it could be done: else the capture is bigger, and nothing else.
    """
    set_collector = _set_event_collector()
    if set_collector is None:
        return False
    for category in _THREAD_POOL_CATEGORIES:
        set_collector(category, None)
    return True


_SET_EVENT_COLLECTOR = (
    "_ZN3tsl7tracing17SetEventCollectorENS0_13EventCategoryEPKNS0_14EventCollectorE"
)
_THREAD_POOL_CATEGORIES = (0, 1)
"""`tsl::tracing::EventCategory`: a closure is scheduled, a closure is run."""


@cache
def _set_event_collector() -> Any:
    """`tsl::tracing::SetEventCollector(category, collector)`; None where it is not to be had."""
    for name in ("libtensorflow_framework.so.2", "libtensorflow_framework.2.dylib"):
        try:
            library = ctypes.CDLL(str(Path(tf.__file__).parent / name))
            function = library[_SET_EVENT_COLLECTOR]
        except (OSError, AttributeError):
            continue
        function.argtypes, function.restype = [ctypes.c_int, ctypes.c_void_p], None
        return function
    return None


def watch_peers(resolver: tf.distribute.cluster_resolver.ClusterResolver, timeout_s: float) -> None:
    """Have the coordination service give a silent worker up after `timeout_s`.

    MultiWorkerMirroredStrategy sets the service up with TensorFlow's own 10 s, and has no argument
    for it; it leaves a service alone that was set up before. Call it before the strategy.
    """
    from tensorflow.python.distribute import multi_worker_util
    from tensorflow.python.distribute.collective_all_reduce_strategy import (
        coordination_config_pb2,  # where it lies changes between releases
    )
    from tensorflow.python.eager import context

    cluster = multi_worker_util.normalize_cluster_spec(resolver.cluster_spec())
    jobs = [
        coordination_config_pb2.CoordinatedJob(name=job, num_tasks=cluster.num_tasks(job))
        for job in ("chief", "worker")
        if job in cluster.jobs
    ]
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader=multi_worker_util.coordination_leader(cluster),
        heartbeat_timeout_in_ms=round(timeout_s * 1000),
        coordinated_jobs=jobs,
    )


def build_for_fit(
    model: Any, strategy: tf.distribute.Strategy, element_spec: tuple[Any, Any]
) -> None:
    """Build the loss and the metrics of a compiled model whose replicas are several.

    Keras 3 builds them from the mean of the replicas' parts of the first batch, which there is
    only where all parts are of one size and of numbers. An empty batch tells it as much.
    """

    def empty(part: tf.TensorSpec) -> Any:
        return keras.KerasTensor((1, *part.shape[1:]), part.dtype.name)

    features, labels = tf.nest.map_structure(empty, element_spec)
    shares = keras.KerasTensor((1,), "float32")
    with strategy.scope():
        model._symbolic_build(data_batch=(features, labels, shares))
    model._maybe_symbolic_build = lambda **_: None


def let_fit_span_processes() -> None:
    """Make Keras `fit` work for models whose replicas live in several processes: see
    `build_for_fit` too.

    As shipped, Keras 3 averages their scalar results over their first axis
    (keras-team/keras#20585). Here they are averaged over the replicas.
    """
    from keras.src.backend.tensorflow import trainer

    def mean_over_replicas(values: Any, strategy: Any, reduction: str) -> Any:
        if reduction != "auto":  # `fit` asks for this one, evaluation and prediction for others
            return stock(values, strategy, reduction)
        return tf.nest.map_structure(lambda v: strategy.reduce("MEAN", v, axis=None), values)

    stock = getattr(trainer.reduce_per_replica, "stock", trainer.reduce_per_replica)
    mean_over_replicas.stock = stock  # type: ignore[attr-defined]
    trainer.reduce_per_replica = mean_over_replicas


def is_there(value: Any) -> bool:
    """Whether a `RemoteValue` has its result, or its error: whether `fetch` comes back at once.

    There is no public way to ask: `fetch` waits, so each closure would take a thread of its own,
    which is woken on the cores where the workers compute.
    """
    return bool(value._status_available_event.is_set())
