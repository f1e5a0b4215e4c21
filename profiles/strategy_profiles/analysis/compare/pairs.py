"""Runs of two sides taken in turns, as pairs of neighbours in time.

A machine drifts: two runs of one spec differ by more if they are minutes apart than right after
each other. Two neighbours meet nearly the same machine, so their difference holds little of that.
"""

from __future__ import annotations

from collections.abc import Sequence


def neighbours(a_started_ns: Sequence[int], b_started_ns: Sequence[int]) -> list[tuple[int, int]]:
    """Index pairs (run of A, run of B) that follow each other; each run is in one pair at most.

    Goes through all runs by their start and takes the next two if they are of different sides.
    AAABBB gives one pair, ABBAAB three.
    """
    runs = sorted(
        [(start, 0, index) for index, start in enumerate(a_started_ns)]
        + [(start, 1, index) for index, start in enumerate(b_started_ns)]
    )
    pairs: list[tuple[int, int]] = []
    position = 0
    while position + 1 < len(runs):
        (_, side, index), (_, next_side, next_index) = runs[position], runs[position + 1]
        if side == next_side:
            position += 1
            continue
        pairs.append((index, next_index) if side == 0 else (next_index, index))
        position += 2
    return pairs
