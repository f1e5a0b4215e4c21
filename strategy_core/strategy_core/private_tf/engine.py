"""Private TensorFlow and Keras that training and recording need: why, and what its loss costs.

Each name is looked up where it is used. If a release of TensorFlow moves one, the feature that
needs it falls back and a note says so (`availability`). `tests/strategy_core/private_tf/
test_engine.py` fails by name.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import keras
import tensorflow as tf

from strategy_core.private_tf import shared_libraries
from strategy_core.private_tf.availability import has, lost, private, required, unavailable

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
    """A MirroredStrategy whose collective keys no other strategy in this process uses.

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
    if not has(
        tf.distribute.MirroredStrategy,
        "_collective_key_base",
        "a second MirroredStrategy in one process may fail with a shape mismatch in a collective",
    ):
        return tf.distribute.MirroredStrategy(list(devices), cross_device_ops)
    key_base = next(_next_key_base)

    class MirroredStrategy(tf.distribute.MirroredStrategy):
        _collective_key_base = key_base

    strategy = MirroredStrategy(list(devices), cross_device_ops)
    extended = strategy.extended
    if has(extended, "_communication_options", "bytes_per_pack has no effect on collectives"):
        extended._stock_communication_options = extended._communication_options
        reduce_by(strategy, cross_device_ops, options)
    return strategy


def reduce_by(strategy: Any, cross_device_ops: Any, options: Any) -> None:
    """Have a strategy from `mirrored_strategy` reduce as if it had been made with these.

    What was traced before stays as it is. A stock strategy is given its algorithm once, and model
    and optimizer belong to it: for another one, all of their variables would be made again. Raises
    LabError for a strategy that `mirrored_strategy` could not prepare for this.
    """
    extended = strategy.extended
    if not hasattr(extended, "_stock_communication_options"):
        raise unavailable("Another algorithm in a running MirroredStrategy", "its private options")
    extended._cross_device_ops = cross_device_ops or extended._collective_ops
    stock = extended._stock_communication_options
    extended._communication_options = stock if options is None else stock.merge(options)


def eager_seeds() -> Any:
    """A value that is another one once an eager op has drawn from TensorFlow's global seed.

    To set that seed again costs every kernel that eager ops and steps have, and is needless if
    nothing drew from it. Nothing public tells.
    """
    context = private(
        "tensorflow.python.eager.context:context",
        "the global seed is set again for each segment, which retraces every step",
    )
    if context is None:
        return object()  # unequal to any other: as if an op had drawn
    generator = getattr(context(), "_rng", None)  # none before the first seed
    return None if generator is None else generator.getstate()


@contextmanager
def iterators_without_autotune() -> Iterator[None]:
    """Distributed iterators created inside get no tuning thread of tf.data on their devices.

    The end of such a thread is announced before the flag that it looks at is set
    (`CancellationManager::StartCancel`): on a busy machine it misses that, sleeps on for up to a
    minute, and the thread that drops the iterator waits for it while it holds the GIL. A data set's
    options keep the thread from the host's part, but nothing public reaches the devices' parts. The
    stack of such a wait in a plain program: `EagerTensor_dealloc`, `~IteratorResource`,
    `~UnboundedWorkQueue`, `pthread_join`.
    """
    path = "tensorflow.python.data.ops.multi_device_iterator_ops"
    stock = private(
        f"{path}:_create_device_dataset",
        "the end of a segment may take up to a minute on a busy machine",
    )
    if stock is None:
        yield
        return
    module: Any = import_module(path)
    options = tf.data.Options()
    options.autotune.enabled = False

    def create(*args: Any, **kwargs: Any) -> Any:
        return stock(*args, **kwargs).with_options(options)

    module._create_device_dataset = create
    try:
        yield
    finally:
        module._create_device_dataset = stock


def can_replace_all_reduce(optimizer: Any) -> bool:
    """Whether `replace_all_reduce` works on this optimizer: without it steps have no timestamps,
    since a timestamp around an all-reduce that is somewhere else would be wrong."""
    return has(
        optimizer,
        "_all_reduce_sum_gradients",
        "steps have no light timestamps, and an injected delay comes before the whole update",
    )


def check_can_delay(optimizer: Any) -> None:
    """Raises LabError if no delay can come before the all-reduce that `apply` does."""
    if not can_replace_all_reduce(optimizer):
        raise unavailable("A delay inside a replica's step", "Optimizer._all_reduce_sum_gradients")


def replace_all_reduce(optimizer: Any, all_reduce: Callable[[list[Pair]], Sequence[Pair]]) -> bool:
    """Put `all_reduce` in the place of the one that a Keras optimizer does inside `apply`.

    It is given the (gradient, variable) pairs in a replica's context and returns them reduced.
    Keras 3 dropped `skip_gradients_aggregation`: without this, an all-reduce in the open, the
    lesson of `train_step.py`, would be done twice, and a delay could not come before it. Also,
    clipping acts on the gradient of the global batch, as it does on one device.

    Returns whether it could be done. If not, `apply` reduces by itself.
    """
    if not can_replace_all_reduce(optimizer):
        return False
    optimizer._all_reduce_sum_gradients = all_reduce
    return True


def stock_all_reduce(optimizer: Any, pairs: Iterable[Pair]) -> list[Pair]:
    """The all-reduce of an unmodified Keras optimizer."""
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
        cost = "replicas of one process take turns at timestamps and injected delays"
        if has(manager, "run_independently", cost):
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
    session = private(
        "tensorflow.python.profiler.internal._pywrap_profiler:ProfilerSession",
        "a capture window holds the training up until TensorFlow has written it",
    )
    return _PublicSession() if session is None else session()


class _PublicSession:
    """A profiler session through TensorFlow's public API."""

    def start(self, folder: str, options: dict[str, Any]) -> None:
        del options
        tf.profiler.experimental.start(folder)

    def export_to_tb(self) -> None:
        tf.profiler.experimental.stop()


def has_profiler_session() -> bool:
    """Whether this process has a profiler session, which lasts until the runtime has taken the
    events out of it, long before `export_to_tb` has written them. True if it is not known."""
    has_active_session = _exported(
        "_ZN3tsl8profiler12ProfilerLock16HasActiveSessionEv", ctypes.c_bool
    )
    if has_active_session is None:
        lost("tsl::profiler::ProfilerLock", "a capture window holds the training up until written")
        return True
    return bool(has_active_session())


def leave_out_thread_pool_events() -> bool:
    """Keep the events of thread pools out of the capture that was just started.

    Whatever `ProfilerOptions` say, TensorFlow 2.21 records every closure that a thread pool is
    given, begins and ends: 60 % of the events of short steps, which no number of the lab is made
    of, and most of what a capture costs. No option and no public call leaves them out. The runtime
    itself switches them on and off with a plain function that its library exports; the profiler's
    own stop does so once more.

    Returns whether it could be done: else the capture is bigger, and nothing else.
    """
    set_collector = _exported(_SET_EVENT_COLLECTOR, None, ctypes.c_int, ctypes.c_void_p)
    if set_collector is None:
        lost("tsl::tracing::SetEventCollector", "captures hold thread pool events and cost more")
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
def _exported(name: str, result: Any, *arguments: Any) -> Any:
    """A plain function that TensorFlow's library exports; None if it is not available."""
    library = shared_libraries.that_exports(name)
    if library is None:
        return None
    function = library[name]
    function.restype, function.argtypes = result, list(arguments)
    return function


def watch_peers(resolver: tf.distribute.cluster_resolver.ClusterResolver, timeout_s: float) -> None:
    """Have the coordination service give a silent worker up after `timeout_s`.

    MultiWorkerMirroredStrategy sets the service up with TensorFlow's own 10 s, and has no argument
    for it; it leaves a service alone that was set up before. Call it before the strategy.
    """
    cost = f"a silent worker is given up after TensorFlow's own 10 s, not after {timeout_s:g} s"
    normalize = private(
        "tensorflow.python.distribute.multi_worker_util:normalize_cluster_spec", cost
    )
    leader = private("tensorflow.python.distribute.multi_worker_util:coordination_leader", cost)
    # The module of the configuration's class changes between releases; this one imports it.
    job_class = private(
        "tensorflow.python.distribute.collective_all_reduce_strategy:"
        "coordination_config_pb2.CoordinatedJob",
        cost,
    )
    configure = private(
        "tensorflow.python.eager.context:Context.configure_coordination_service", cost
    )
    if None in (normalize, leader, job_class, configure):
        return
    from tensorflow.python.eager import context

    cluster = normalize(resolver.cluster_spec())
    jobs = [
        job_class(name=job, num_tasks=cluster.num_tasks(job))
        for job in ("chief", "worker")
        if job in cluster.jobs
    ]
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader=leader(cluster),
        heartbeat_timeout_in_ms=round(timeout_s * 1000),
        coordinated_jobs=jobs,
    )


def build_for_fit(
    model: Any, strategy: tf.distribute.Strategy, element_spec: tuple[Any, Any]
) -> None:
    """Build the loss and the metrics of a compiled model that has several replicas.

    Keras 3 builds them from the mean of the replicas' parts of the first batch, which there is
    only where all parts are of one size and of numbers. An empty batch tells it as much.
    """

    if not (hasattr(model, "_symbolic_build") and hasattr(model, "_maybe_symbolic_build")):
        raise unavailable("Keras fit over several replicas", "Model._symbolic_build")

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
    path = "keras.src.backend.tensorflow.trainer"
    now = required(f"{path}:reduce_per_replica", "Keras fit over several processes")
    trainer: Any = import_module(path)

    def mean_over_replicas(values: Any, strategy: Any, reduction: str) -> Any:
        if reduction != "auto":  # `fit` asks for this one, evaluation and prediction for others
            return stock(values, strategy, reduction)
        return tf.nest.map_structure(lambda v: strategy.reduce("MEAN", v, axis=None), values)

    stock = getattr(now, "stock", now)
    mean_over_replicas.stock = stock  # type: ignore[attr-defined]
    trainer.reduce_per_replica = mean_over_replicas


def is_there(value: Any) -> bool:
    """Whether a `RemoteValue` has its result, or its error: whether `fetch` comes back at once.

    There is no public way to ask: `fetch` waits, so each closure would take a thread of its own,
    which is woken on the cores where the workers compute.
    """
    event = getattr(value, "_status_available_event", None)
    if event is None:
        lost(
            "RemoteValueImpl._status_available_event",
            "the coordinator waits for closures in the order in which it scheduled them",
        )
        return True
    return bool(event.is_set())
