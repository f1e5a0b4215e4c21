"""Spans that overlap in time, put onto as few lanes as keep them apart."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def pack(starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The lane of each span (0 is the top one); `starts` ascend. Greedy, hence the fewest lanes.

    The lowest free lane is taken, so a replica that runs one op at a time stays on lane 0.
    """
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    num_lanes = 0
    lanes = []
    for start, end in zip(starts, ends, strict=True):
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, num_lanes = num_lanes, num_lanes + 1
        heapq.heappush(busy, (end, lane))
        lanes.append(lane)
    return lanes
