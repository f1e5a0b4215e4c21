"""Counts the examples of Keras's training batches if the dataset does not tell their number.

Keras takes the batches inside its train function, so no Python code sees them. Keras's own
`train_step` weighs the loss of a batch by its number of examples, so the count of the metric `loss`
is the number of examples since the epoch began. Things that don't work: the size that the dataset
was batched with (private API, and unknown if a transformation follows), a batch from an iterator of
the lab's own (it runs the program's input pipeline once more), and the metrics of a `train_step` of
the program's own (a loss that is one number counts as one example, a value per word as one each).
Python sees such a batch only while the train function is traced, when its size is not known yet: to
count it, the program's graph would need an op of the lab's.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

from strategy_core.planning import strategy_catalog
from strategy_core.recorder.program import strategy_name
from strategy_core.tracing.values import snapshot

_EXACT = 2**24
"""Keras counts in float32, which holds every whole number up to here."""


class CountedExamples:
    """The examples of the steps of one call of `fit`, over all replicas of this process.

    What a step's end needs of the count is copied there, and read when the step is written.
    """

    def __init__(self, model: Any) -> None:
        self._strategy = getattr(model, "distribute_strategy", None)
        self._count = _count_of_loss(model)
        if self._strategy is not None:
            row = strategy_catalog.find(strategy_name(self._strategy))
            if row is not None and row.has_coordinator:
                self._count = None  # on a parameter server, and its workers' steps overlap
        self._before: Counted | None = _nothing
        """The count at the begin of batch `_next_batch`; None if it is unknown."""
        self._next_batch: int | None = None
        self._num_evaluations = 0

    @property
    def is_possible(self) -> bool:
        return self._count is not None

    def begin(self, batch: int, num_evaluations: int) -> None:
        """A step begins with this batch of its epoch. Keras resets the count with each epoch.

        Evaluations count in the same metric. After one the examples of the next step are unknown.
        """
        if batch == 0:
            self._before = _nothing
        elif batch != self._next_batch or num_evaluations != self._num_evaluations:
            self._before = None
        self._num_evaluations = num_evaluations

    def end(self, batch: int, num_batches: int) -> Callable[[], int | None] | None:
        """Return what reads the examples of the step that ends with this batch; None if they are
        unknown."""
        parts = self._parts()
        before, now = self._before, snapshot(parts) if parts else None
        self._before, self._next_batch = now, batch + 1
        if before is None or now is None:
            return None
        # A Keras that counts a batch as one example, whatever its size, does not tell it.
        return functools.partial(_difference, before, now, num_batches * len(parts))

    def _parts(self) -> tuple[Any, ...]:
        """The variable of each replica: reading the whole one would add them on a device."""
        if self._count is None:
            return ()
        value = self._count.value
        if self._strategy is None:
            return (value,)
        return tuple(self._strategy.experimental_local_results(value))


Counted = Callable[[], Sequence[float]]
"""Reads the count of each replica, as it was at the end of a step."""


def _nothing() -> Sequence[float]:
    return ()


def _difference(before: Counted, now: Counted, least: int) -> int | None:
    """The examples between two counts, if they are more than `least` and exact."""
    counted = sum(now())
    examples = counted - sum(before())
    return int(examples) if examples > least and counted <= _EXACT else None


def _count_of_loss(model: Any) -> Any:
    """The variable in which Keras counts the examples; None if the model counts otherwise."""
    keras = sys.modules["keras"]
    if type(model).train_step is not keras.Model.train_step:
        return None
    first: Any = next(iter(model.metrics), None)
    is_own = isinstance(first, keras.metrics.Mean) and first.name == "loss"
    return first.count if is_own else None
