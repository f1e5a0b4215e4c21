"""Columns of one field of many events."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from strategy_profiles.run.events import Recorded

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
UNKNOWN = -1
"""Entry of a column of integers if the event has none; a column of floats then has NaN."""


def ints_of(events: Sequence[Recorded], name: str) -> Ints:
    return np.fromiter(map(attrgetter(name), events), np.int64, len(events))


def ints_or_unknown_of(events: Sequence[Recorded], name: str) -> Ints:
    """Return a column of integers; None becomes `UNKNOWN`."""
    try:
        return ints_of(events, name)
    except TypeError:  # one of them is None
        known = (UNKNOWN if (value := getattr(event, name)) is None else value for event in events)
        return np.fromiter(known, np.int64, len(events))


def floats_of(events: Sequence[Recorded], name: str) -> Floats:
    """Return a column of floats; None becomes NaN."""
    return np.array([*map(attrgetter(name), events)], np.float64)
