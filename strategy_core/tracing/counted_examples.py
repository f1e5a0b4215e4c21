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

import sys
from typing import Any

from strategy_core.planning import strategy_catalog
from strategy_core.recorder.program import strategy_name

_EXACT = 2**24
"""Keras counts in float32, which holds every whole number up to here."""


class CountedExamples:
    """The examples of the steps of one call of `fit`, over all replicas of this process."""

    def __init__(self, model: Any) -> None:
        self._strategy = getattr(model, "distribute_strategy", None)
        self._count = _count_of_loss(model)
        if self._strategy is not None:
            row = strategy_catalog.find(strategy_name(self._strategy))
            if row is not None and row.has_coordinator:
                self._count = None  # on a parameter server, and its workers' steps overlap
        self._before = 0
        """The count at the begin of batch `_next_batch`."""
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
            self._before = 0
        elif batch != self._next_batch or num_evaluations != self._num_evaluations:
            self._before = _EXACT
        self._num_evaluations = num_evaluations

    def end(self, batch: int, num_batches: int) -> int | None:
        """Return the examples of the step that ends with this batch; None if they are unknown."""
        before, self._before, self._next_batch = self._before, self._read(), batch + 1
        examples = self._before - before
        # A Keras that counts a batch as one example, whatever its size, does not tell it.
        least = num_batches * len(self._parts())
        return examples if examples > least and self._before <= _EXACT else None

    def _read(self) -> int:
        return int(sum(float(part.numpy()) for part in self._parts()))

    def _parts(self) -> tuple[Any, ...]:
        """The variable of each replica: reading the whole one would add them on a device."""
        if self._count is None:
            return ()
        value = self._count.value
        if self._strategy is None:
            return (value,)
        return tuple(self._strategy.experimental_local_results(value))


def _count_of_loss(model: Any) -> Any:
    """The variable in which Keras counts the examples; None if the model counts otherwise."""
    keras = sys.modules["keras"]
    if type(model).train_step is not keras.Model.train_step:
        return None
    first: Any = next(iter(model.metrics), None)
    is_own = isinstance(first, keras.metrics.Mean) and first.name == "loss"
    return first.count if is_own else None
