"""Step timestamps in Keras `fit`, whose step returns only its logs.

The three timestamps of `recorder.marks` are taken around Keras's own `train_step` and inside the
optimizer's all-reduce. Each replica writes them and the size of the global batch to its copy of a
variable that is never reduced, from which they are read when the step is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from strategy_core.private_tf import engine as private_tf
from strategy_core.recorder.marks import has_gpus, has_tpus, mark, on_host
from strategy_core.runtime.replica import replica_number
from strategy_core.training.injected_delay import Delays, delayed
from strategy_profiles.run.events import NUM_MARKS


class FitMarks:
    """Timestamps of one model's `fit`. Create it before `fit` traces its step."""

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        model: Any,
        optimizer: Any,
        delays: Delays,
        *,
        wanted: bool,
        has_central_copy: bool,
    ) -> None:
        """Add timestamps to the step if `wanted`.

        `has_central_copy`: whether the strategy keeps one copy of each variable for all replicas.
        `delays`: of the replicas, between their gradients and the all-reduce. They are added in any
        case.
        """
        if delays.replicas:
            private_tf.check_can_delay(optimizer)
        wanted = wanted and private_tf.can_replace_all_reduce(optimizer) and not has_tpus()
        self._strategy = strategy
        self._optimizer = optimizer
        self._delays = delays
        self._reduced: dict[int | None, tuple[tf.Tensor, tf.Tensor]] = {}
        self._kept = _one_per_replica(strategy, has_central_copy) if wanted else None
        if wanted:
            self._stock_step = model.train_step
            model.train_step = self._train_step
        if wanted or delays.replicas:
            private_tf.replace_all_reduce(optimizer, self._all_reduce)

    def read(self) -> tuple[npt.NDArray[np.int64] | None, int]:
        """The last step's timestamps, and the number of examples in its global batch.

        Timestamps: (local replicas, 3), ns since the epoch; None unless wanted. The number is 0 if
        no local replica knows it.
        """
        kept = self._kept
        if kept is None:
            return None, 0
        if not isinstance(kept, list):
            kept = self._strategy.experimental_local_results(kept)
        numbers = np.stack([copy.numpy() for copy in kept])
        return numbers[:, :NUM_MARKS], int(numbers[:, NUM_MARKS].max())

    def _train_step(self, data: Any) -> Any:
        """Called by Keras in every replica's context, while it traces."""
        inputs_ready = mark(data)
        if not has_gpus():  # a GPU's first kernel would wait for the host
            with tf.control_dependencies([inputs_ready]):
                data = tf.nest.map_structure(tf.identity, data)
        logs = self._stock_step(data)
        number = replica_number(tf.distribute.get_replica_context())
        marks = self._reduced.pop(number, None)
        if marks is not None:
            own: Any = self._kept[number or 0] if isinstance(self._kept, list) else self._kept
            with on_host():
                times = tf.stack([inputs_ready, *marks, _num_examples(data[2])])
            own.assign(times)  # on a GPU one copy of 32 bytes: the variable is on its device
        return logs

    def _all_reduce(self, pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        gradients, weights = zip(*pairs, strict=True)
        ready = delayed(gradients, self._delays)
        before = self._mark(ready)
        reduced = private_tf.stock_all_reduce(self._optimizer, zip(ready, weights, strict=True))
        after = self._mark([gradient for gradient, _ in reduced])
        if before is not None and after is not None:
            self._reduced[replica_number(tf.distribute.get_replica_context())] = before, after
        return reduced

    def _mark(self, gradients: Sequence[Any]) -> tf.Tensor | None:
        if self._kept is None:
            return None
        return mark([gradient for gradient in gradients if gradient is not None])


def _one_per_replica(strategy: tf.distribute.Strategy, has_central_copy: bool) -> Any:
    """Storage for each replica's timestamps: one variable with a copy per replica, or a list."""
    empty = tf.zeros([NUM_MARKS + 1], tf.int64)
    if has_central_copy:  # whatever the synchronization of a variable
        return [tf.Variable(empty, trainable=False) for _ in range(strategy.num_replicas_in_sync)]
    with strategy.scope():
        return tf.Variable(
            empty,
            trainable=False,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
        )


def _num_examples(shares: tf.Tensor) -> tf.Tensor:
    """Number of examples in the global batch, from the share of each; 0 for an empty batch."""
    share = tf.reduce_max(tf.concat([tf.cast(shares, tf.float32), [0.0]], axis=0))
    return tf.cast(tf.round(tf.math.divide_no_nan(1.0, share)), tf.int64)
