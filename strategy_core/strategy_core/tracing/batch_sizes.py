"""How many examples the batches of an epoch have, as Keras's source of the batches tells.

It is asked once per epoch: for a `tf.data.Dataset`, Keras flattens the structure of its elements
each time it is asked for the size, and runs an op to count its batches.
"""

from __future__ import annotations

from typing import Any


class BatchSizes:
    """The sizes at the begin of an epoch. `adapter` is Keras's source of the batches, or None."""

    def __init__(self, adapter: Any) -> None:
        size = getattr(adapter, "batch_size", None)
        self.batch_size = None if size is None else int(size)
        self._num_batches: int | None = None
        """Of the epoch, if the last one is smaller."""
        self._last_size: int | None = None
        if size is not None and getattr(adapter, "has_partial_batch", False):
            self._num_batches = getattr(adapter, "num_batches", None)
            partial = getattr(adapter, "partial_batch_size", None)
            self._last_size = None if partial is None else int(partial)

    def examples(self, last: int, num_batches: int) -> int | None:
        """Examples of the `num_batches` batches that end with number `last`; None if unknown."""
        size = self.batch_size
        if size is None:
            return None
        if self._num_batches is None or last + 1 < self._num_batches:
            return size * num_batches
        if self._last_size is None:
            return None
        return size * (num_batches - 1) + self._last_size
