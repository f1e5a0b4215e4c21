"""Turns a workload's data set into the replicas' batches, with checks before the first step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import engine as private_tf
from strategy_core.runtime.tensor_format import described
from strategy_core.runtime.user_errors import explained
from strategy_core.training.step_errors import FINITE
from strategy_core.training.workload import Workload
from strategy_profiles.errors import SpecError
from strategy_profiles.run.tensorflow_names import PYTHON_OPS
from strategy_profiles.spec.run_spec import RunSpec


def global_batches(
    spec: RunSpec, work: Workload, first_example: int
) -> tuple[tf.data.Dataset, Any]:
    """The endless global batches from position `first_example` of the stream; raises SpecError.

    Also returns the first batch of the data set; None if it was not checked.
    """
    size = spec.global_batch_size
    if work.can_start_anywhere:
        dataset = work.build_dataset(size, spec.seed, first_example=first_example)
    else:
        dataset = work.build_dataset(size, spec.seed)
    if not isinstance(dataset, tf.data.Dataset):
        raise _wrong(work, f"returned {type(dataset).__name__}, not a tf.data.Dataset")
    _check_structure(work, dataset)
    is_begun = work.can_start_anywhere and first_example > 0
    first = None if work.is_built_in else _first_batch(work, dataset, size, is_begun)
    if dataset.cardinality() != tf.data.INFINITE_CARDINALITY:
        dataset = dataset.repeat()
    if not work.can_start_anywhere:
        dataset = _from_example(dataset, first_example)
    return dataset if work.is_built_in else _checked(dataset, first), first


def _from_example(dataset: tf.data.Dataset, first_example: int) -> tf.data.Dataset:
    """The batches that follow `first_example` examples, also if the last batch of an epoch is
    smaller."""
    if first_example == 0:
        return dataset

    def count(seen: tf.Tensor, batch: Any) -> tuple[tf.Tensor, Any]:
        seen += tf.shape(tf.nest.flatten(batch)[0], out_type=tf.int64)[0]
        return seen, (seen, batch)

    counted = dataset.scan(tf.constant(0, tf.int64), count)
    later = counted.filter(lambda seen, _batch: seen > first_example)
    return later.map(lambda _seen, batch: batch)


def distributed(
    strategy: tf.distribute.Strategy, dataset: tf.data.Dataset, *, has_cores: bool = False
) -> Iterator[Any]:
    """Iterate over (per-replica batch, per-replica shares), fetched ahead of the steps.

    `has_cores`: whether the devices are TPU cores, which may be on several hosts. Raises SpecError
    if these would have to run Python code of the data set.
    """
    ahead = for_distribution(with_shares(dataset))
    if has_cores and strategy.extended.num_hosts > 1:
        _check_can_leave(ahead)
    with private_tf.iterators_without_autotune():
        return iter(strategy.experimental_distribute_dataset(ahead))


def as_graph(dataset: tf.data.Dataset) -> bytes | None:
    """The data set as a serialized GraphDef; None if it calls back into Python."""
    graph: bytes = tf.raw_ops.DatasetToGraphV2(
        input_dataset=tf.data.experimental.to_variant(dataset),
        external_state_policy=1,  # ignore: a shuffle starts from its seed
    ).numpy()
    definition = tf.compat.v1.GraphDef.FromString(graph)
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    return None if any(node.op in PYTHON_OPS for node in nodes) else graph


def _check_can_leave(dataset: tf.data.Dataset) -> None:
    if as_graph(dataset) is None:
        raise SpecError(
            "The data set runs Python code (from_generator, py_function or numpy_function), "
            "which the hosts of a pod cannot run",
            advice="Build it from tf.data ops, or set workers=1",
            field="data",
        )


def for_distribution(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The same data set with prefetching, and without a tuning thread that may take long to end.

    Every worker of a cluster reads the whole data set and takes its part of each global batch. Any
    data set can be sharded in this way, and the global batches are the same as with a single
    worker.
    """
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    options.autotune.enabled = False  # see private_tf.iterators_without_autotune
    return dataset.prefetch(2).with_options(options)


def with_shares(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Batches -> (batch, shares): each example's share of the mean over its global batch."""

    def add_shares(*batch: Any) -> tuple[Any, tf.Tensor]:
        examples = tf.shape(tf.nest.flatten(batch)[0])[0]
        return batch, tf.fill([examples], 1.0 / tf.cast(examples, tf.float32))

    return dataset.map(add_shares)


def _checked(dataset: tf.data.Dataset, first: Any) -> tf.data.Dataset:
    """The same batches, checked when they are read: a batch with NaN or infinity raises.

    Keras needs the rank of each part, so parts of unknown rank get that of the `first` batch.
    Sparse and ragged parts are not checked.
    """

    def check(part: Any, seen: Any) -> Any:
        if part.shape.rank is None:
            part = tf.ensure_shape(part, [None] * len(seen.shape))
        is_dense_float = isinstance(part, tf.Tensor) and part.dtype.is_floating
        return tf.debugging.check_numerics(part, FINITE) if is_dense_float else part

    def check_batch(*parts: Any) -> Any:
        batch = parts if isinstance(dataset.element_spec, tuple) else parts[0]
        return tf.nest.map_structure(check, batch, first)

    return dataset.map(check_batch)


def _check_structure(work: Workload, dataset: tf.data.Dataset) -> None:
    spec = dataset.element_spec
    is_pair = isinstance(spec, tuple) and len(spec) == 2
    if work.train_step is None and not is_pair:
        raise _wrong(work, f"yields {described(spec)}, not (features, labels) pairs")
    for part in tf.nest.flatten(spec):
        is_ragged = isinstance(part, tf.RaggedTensorSpec) and work.train_step is not None
        if not isinstance(part, tf.TensorSpec) and not is_ragged:
            advice = "Make them dense: .to_tensor(), tf.sparse.to_dense()"
            raise _wrong(work, f"yields {described(spec)}, not dense tensors", advice)
        if part.shape.rank == 0:
            advice = "End it with .batch(global_batch_size)"
            raise _wrong(work, f"yields single examples {described(spec)}, not batches", advice)


def _first_batch(work: Workload, dataset: tf.data.Dataset, size: int, is_begun: bool) -> Any:
    """Check and return the first batch: it exists, is a global batch, and all numbers are finite.

    Only the last batch of an epoch may be smaller. If the stream `is_begun`, the first batch read
    may be that one. Raises SpecError.
    """
    with explained(work.path, f"The first batch of {work.path.name}"):
        batches = iter(dataset)
        first = next(batches, None)
    if first is None:
        raise _wrong(work, "returned an empty data set")
    examples = {int(part.shape[0]) for part in tf.nest.flatten(first)}
    if len(examples) > 1:
        sizes = " and ".join(map(str, sorted(examples)))
        raise _wrong(work, f"yields features and labels of different numbers: {sizes}")
    (num_examples,) = examples
    is_whole = num_examples == size or is_begun or (0 < num_examples < size and not _any(batches))
    if num_examples > size or not is_whole:
        raise _wrong(
            work,
            f"yields a first batch of {num_examples} examples, not of global_batch_size={size}",
            "End it with .batch(global_batch_size): only the last batch of an epoch may be smaller",
        )
    for part in tf.nest.flatten(first, expand_composites=True):
        if part.dtype.is_floating and not bool(tf.reduce_all(tf.math.is_finite(part))):
            raise _wrong(work, "yields NaN or infinity in the first batch")
    return first


def _any(batches: Iterator[Any]) -> bool:
    return next(batches, None) is not None


def _wrong(work: Workload, problem: str, advice: str = "") -> SpecError:
    return SpecError(f"build_dataset of {work.path.name} {problem}", advice=advice, field="data")
