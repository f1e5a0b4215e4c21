"""Which kind of a plane's events a metadata id means."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strategy_profiles.capture.wire import Ints

_MOST_DIRECT = 1 << 20


class KindTable:
    """Looks up many ids at once; ids may be any number."""

    def __init__(self, ids: Sequence[int], is_dropped: Sequence[bool]) -> None:
        """`ids` ascend; events of kinds that are dropped count as those of unknown ones."""
        self._ids = np.asarray(ids, np.int64)
        kinds = np.where(np.asarray(is_dropped, bool), -1, np.arange(len(ids)))
        self._kinds = np.append(kinds, -1)
        self._direct: Ints | None = None
        if not ids or (ids[0] >= 0 and ids[-1] < _MOST_DIRECT):
            self._direct = np.full(max(ids, default=0) + 2, -1)  # the last is for larger ids
            self._direct[self._ids] = kinds

    def find(self, ids: Ints) -> Ints:
        """Return the index of each id's kind, -1 if it is unknown or dropped."""
        if self._direct is not None:
            last = np.uint64(len(self._direct) - 1)
            # As unsigned numbers, negative ids are large.
            return self._direct[np.minimum(ids.view(np.uint64), last).view(np.int64)]
        place = np.searchsorted(self._ids, ids)
        is_known = self._ids[np.minimum(place, len(self._ids) - 1)] == ids
        return np.where(is_known, self._kinds[place], -1)
