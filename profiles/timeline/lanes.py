"""Assign the spans of a track to lanes without overlap, a million in a fraction of a second."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def assign_lanes(starts: Ints, ends: Ints) -> Ints:
    """Return the lane of each span; lane 0 is on top.

    `starts` must ascend, `ends` are exclusive. First fit: every span takes the lowest lane that is
    free at its start. The spans of lane 0 form a chain in which each is the first to start at or
    after the end of the previous one; the remaining spans form lane 1 in the same way. Following a
    chain takes one list lookup per span.
    """
    lanes = np.zeros(len(starts), np.int64)
    left = np.arange(len(starts), dtype=np.int64)
    lane = 0
    while len(left):
        taken = _chain(starts[left], np.maximum(ends[left], starts[left] + 1))
        lanes[left[taken]] = lane
        left = left[~taken]
        lane += 1
    return lanes


def _chain(starts: Ints, ends: Ints) -> npt.NDArray[np.bool_]:
    if np.all(starts[1:] >= np.maximum.accumulate(ends)[:-1]):
        return np.ones(len(starts), np.bool_)
    following = np.searchsorted(starts, ends, side="left").tolist()
    following.append(len(starts))
    chain = []
    at, end = 0, len(starts)
    while at < end:
        chain.append(at)
        at = following[at]
    taken = np.zeros(end, np.bool_)
    taken[chain] = True
    return taken
