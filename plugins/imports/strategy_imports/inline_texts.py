"""Texts that events hold themselves.

TensorFlow 2.2 to 2.4 writes the details of a GPU's copy so; later versions write a reference to a
name of the plane. Each distinct text gets a number that no name has, so that both are read alike.
"""

from __future__ import annotations

import numpy as np

from strategy_profiles.capture.wire import Bytes, read_varints
from strategy_profiles.tables.columns import Ints

_MOST = 100_000
"""Distinct texts of a plane. Those that follow are left out, for all are kept in memory."""
_LONGEST = 512
"""Bytes of a text; a longer one is left out."""


class InlineTexts:
    """The texts of one plane."""

    def __init__(self, first: int) -> None:
        """`first` is the number of the first text."""
        self._first = first
        self._numbers: dict[bytes, int] = {}

    def numbers(self, buffer: Bytes, places: Ints, ends: Ints) -> Ints:
        """Return a number per text; -1 for one that is left out or does not end where it should.

        Args:
          buffer: the bytes of the file.
          places: where the length of each text is, right before it.
          ends: where each has to end.
        """
        lengths, begin = read_varints(buffer, places)
        fits = (lengths > 0) & (lengths <= _LONGEST) & (begin + lengths == ends)
        numbers = np.full(len(places), -1, np.int64)
        for length in np.unique(lengths[fits]).tolist():
            at = np.flatnonzero(fits & (lengths == length))
            rows = buffer[begin[at][:, None] + np.arange(length)]
            texts, text_of = np.unique(rows.view(f"S{length}").ravel(), return_inverse=True)
            numbers[at] = np.asarray([self._number(text) for text in texts.tolist()])[text_of]
        return numbers

    def by_number(self) -> dict[int, str]:
        return {number: text.decode("utf-8", "replace") for text, number in self._numbers.items()}

    def _number(self, text: bytes) -> int:
        if len(self._numbers) >= _MOST and text not in self._numbers:
            return -1
        return self._numbers.setdefault(text, self._first + len(self._numbers))
