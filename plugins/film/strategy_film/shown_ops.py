"""The op that a node shows at each moment: of those that run, the one that runs longest."""

from __future__ import annotations

import heapq
from itertools import pairwise

from strategy_film.scene import ShownOp
from strategy_profiles.tables.columns import Ints


def shown_ops(start: Ints, end: Ints, name: Ints, length_ns: int) -> tuple[ShownOp, ...]:
    """Return disjoint ops within the film, from spans that may overlap."""
    order = sorted(range(len(start)), key=lambda at: start[at])
    spans = [(int(start[at]), int(end[at]), int(name[at])) for at in order]
    found: list[ShownOp] = []
    running: list[tuple[int, int, int]] = []  # the longest first: (-length, end, name)
    edges = sorted({edge for begun, ended, _ in spans for edge in (begun, ended)})
    following = 0
    for at, until in pairwise(edges):
        while following < len(spans) and spans[following][0] <= at:
            begun, ended, which = spans[following]
            heapq.heappush(running, (begun - ended, ended, which))
            following += 1
        while running and running[0][1] <= at:
            heapq.heappop(running)
        if running:
            _append(found, max(at, 0), min(until, length_ns), running[0][2])
    return tuple(found)


def _append(found: list[ShownOp], start: int, end: int, name: int) -> None:
    if end <= start:
        return
    if found and found[-1].name == name and found[-1].end_ns == start:
        found[-1] = ShownOp(found[-1].start_ns, end, name)
    else:
        found.append(ShownOp(start, end, name))
