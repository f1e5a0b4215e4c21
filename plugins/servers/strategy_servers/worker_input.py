"""The workers' batches: each worker has its own data set, read where it computes.

Of N workers, worker i reads the global batches i, i + N, i + 2N, ... of the same stream. A data set
that runs Python code must stay in this process: its batches are then sent with each closure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from strategy_core.training.input_pipeline import as_graph


class WorkerInput:
    """`argument()` returns a closure's argument; `take_batch` gets a batch from it on the
    worker."""

    def __init__(self, coordinator: Any, dataset: tf.data.Dataset, num_workers: int) -> None:
        graph = as_graph(dataset)
        self.is_remote = graph is not None
        """Whether workers read the data themselves."""
        self.take_batch: Callable[[Any], Any] = next if self.is_remote else _same
        if graph is None:
            batches = iter(dataset)
            self.argument: Callable[[], Any] = lambda: next(batches)
            return
        structure = dataset.element_spec
        # Captured from outside, because TensorFlow would read a constant of the function's own
        # graph on the coordinator.
        captured = tf.constant(graph)

        def on_worker() -> tf.data.Dataset:
            variant = tf.raw_ops.DatasetFromGraph(graph_def=captured)
            whole = tf.data.experimental.from_variant(variant, structure)
            index = tf.distribute.coordinator.experimental_get_current_worker_index()
            return whole.shard(num_workers, tf.cast(index, tf.int64)).prefetch(2)

        iterators = iter(coordinator.create_per_worker_dataset(on_worker))
        self.argument = lambda: iterators


def _same(batch: Any) -> Any:
    return batch
