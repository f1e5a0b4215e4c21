"""From a workload's data set to the batches of the replicas, checked before a step is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from profiles.errors import SpecError
from profiles.spec import RunSpec
from strategy_core import private_tf
from strategy_core.data import images
from strategy_core.dataset_graph import as_graph
from strategy_core.user_code import explained
from strategy_core.workload import Workload

_FINITE = "every number of a batch is finite"


def global_batches(spec: RunSpec, work: Workload, first_example: int) -> tf.data.Dataset:
    """The global batches from an example of the stream on; raises SpecError where they are none."""
    size = spec.global_batch_size
    if work.can_start_anywhere:
        dataset = work.build_dataset(size, spec.seed, first_example=first_example)
    else:
        dataset = work.build_dataset(size, spec.seed)
    if not isinstance(dataset, tf.data.Dataset):
        raise _nonsense(work, "a tf.data.Dataset", type(dataset).__name__)
    _check_structure(work, dataset)
    if dataset.cardinality() != tf.data.INFINITE_CARDINALITY:
        dataset = dataset.repeat()
    if not work.can_start_anywhere:
        dataset = dataset.skip(first_example // size)
    if work.is_built_in:
        return dataset
    _check_first_batch(work, dataset, size)
    return _checked(dataset)


@contextmanager
def explaining_bad_batches(spec: RunSpec, step: int) -> Iterator[None]:
    """Turn what a batch was refused for, while steps go on, into a SpecError that says so."""
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        received = f"NaN or infinity in the batch of step {step}"
        if _FINITE in str(error):
            raise SpecError(
                f"build_dataset of {Path(spec.workload).name} gives finite numbers",
                received,
                field="data",
            ) from error
        if spec.data is not None and Path(spec.data).expanduser().is_dir():
            images.check_every_file(Path(spec.data).expanduser())
        raise


def distributed(strategy: tf.distribute.Strategy, dataset: tf.data.Dataset) -> Iterator[Any]:
    """(per-replica batch, per-replica shares), fetched ahead of the steps.

    Raises SpecError where the hosts of a TPU pod would have to run this process's Python.
    """
    ahead = for_distribution(with_shares(dataset))
    if isinstance(strategy, tf.distribute.TPUStrategy) and strategy.extended.num_hosts > 1:
        _check_can_leave(ahead)
    with private_tf.iterators_without_autotune():
        return iter(strategy.experimental_distribute_dataset(ahead))


def _check_can_leave(dataset: tf.data.Dataset) -> None:
    if as_graph(dataset) is None:
        raise SpecError(
            "The hosts of a pod read for themselves: their data set is made of tf.data ops",
            "a data set that runs Python code (from_generator, py_function, numpy_function)",
            "Set workers=1: then all cores are in one process",
            field="data",
        )


def for_distribution(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The same data set, fetched ahead and without a tuning thread that may take long to end.

    Every worker of a cluster reads it whole and takes its part of each global batch: any data set
    can be shared out so, and the global batches are the ones that a single worker would have.
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


def _checked(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The same batches; reading one fails where one of its numbers is none."""

    def check(part: Any) -> Any:
        is_numbers = isinstance(part, tf.Tensor) and part.dtype.is_floating
        return tf.debugging.check_numerics(part, _FINITE) if is_numbers else part

    def check_batch(*parts: Any) -> Any:
        batch = parts if isinstance(dataset.element_spec, tuple) else parts[0]
        return tf.nest.map_structure(check, batch)

    return dataset.map(check_batch)


def _check_structure(work: Workload, dataset: tf.data.Dataset) -> None:
    spec = dataset.element_spec
    is_pair = isinstance(spec, tuple) and len(spec) == 2
    if work.train_step is None and not is_pair:
        raise _nonsense(work, "(features, labels) pairs", _described(spec))
    for part in tf.nest.flatten(spec):
        if part.shape.rank == 0:
            raise _nonsense(work, "batches, not single examples", _described(spec))


def _check_first_batch(work: Workload, dataset: tf.data.Dataset, global_batch_size: int) -> None:
    """Look at the first batch: there is one, it is a global batch, and its numbers are numbers."""
    with explained(work.path, "The first batch of the data set can be computed"):
        batch = next(iter(dataset.take(1)), None)
    if batch is None:
        raise _nonsense(work, "at least one batch", "an empty data set")
    for part in tf.nest.flatten(batch):
        if part.shape[0] > global_batch_size:
            raise _nonsense(
                work,
                f"batches of global_batch_size={global_batch_size} examples",
                f"a batch of {part.shape[0]}",
            )
        if part.dtype.is_floating and not bool(tf.reduce_all(tf.math.is_finite(part))):
            raise _nonsense(work, "finite numbers", "NaN or infinity in the first batch")


def _nonsense(work: Workload, expected: str, received: str) -> SpecError:
    return SpecError(f"build_dataset of {work.path.name} gives {expected}", received, field="data")


def _described(spec: Any) -> str:
    parts = [f"{part.dtype.name}{part.shape}" for part in tf.nest.flatten(spec)]
    return f"{type(spec).__name__} of {', '.join(parts)}" if len(parts) != 1 else parts[0]
