"""The critical path of a captured step, and the slack of every op.

The path is followed backward from the step's end: from each node to the one that ended last of
those that it waited for. Its pieces (ops, launch gaps, waiting for a core is part of an op) add up
to the step. Slack is how much later a node could end without the step being longer, all else as
recorded: the critical path method (Kelley and Walker, 1959) over the step's graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strategy_profiles.step_graph.graph import ENTER, HOST, StepGraph
from strategy_profiles.tables.columns import Floats

LAUNCH = "launch gap"
LATE = "late start"
"""Another worker began its step so much later than the one whose ops are recorded."""
GAPS = (LAUNCH, LATE)
"""The kinds in which nothing of the path runs: the piece after them has not begun."""
TRANSFER = "transfer"
_KINDS = {"collective": TRANSFER, HOST: "input"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the path, in ns since the step's start."""

    start_ns: float
    end_ns: float
    kind: str
    """`compute`, `delay`, `transfer`, `input`, `other`; `launch gap`, before the op starts, or
    `late start`, before another worker does."""
    op: str
    name: str
    replica: int | None
    """None: the host."""
    device: str | None
    node: int
    """Its number in the step's graph."""

    @property
    def length_ns(self) -> float:
        return self.end_ns - self.start_ns


def critical_path(graph: StepGraph) -> tuple[Piece, ...]:
    """Return the pieces in order of time; together they cover the step."""
    nodes = graph.nodes
    starts, ends = nodes.start_ns.tolist(), nodes.end_ns.tolist()
    pieces: list[Piece] = []
    at: int | None = len(graph) - 1
    until = graph.wall_ns
    while at is not None:
        before = max(graph.waits_for[at], key=ends.__getitem__, default=None)
        ready = 0.0 if before is None else ends[before]
        begun = min(max(starts[at], ready), until)
        kind = nodes.category[at]
        if kind != ENTER:
            pieces.append(_piece(graph, at, begun, until, _KINDS.get(kind, kind)))
            until = begun
        gap = LATE if before is None and graph.is_timed[at] else LAUNCH
        pieces.append(_piece(graph, at, min(ready, until), until, gap))
        until, at = min(ready, until), before
    return tuple(piece for piece in reversed(pieces) if piece.length_ns > 0)


def slack_ns(graph: StepGraph) -> Floats:
    """Return how much later each node could end without a longer step."""
    latest_end = np.full(len(graph), graph.wall_ns)
    lead = (graph.length_ns + graph.gap_ns).tolist()
    latest: list[float] = latest_end.tolist()
    for at in range(len(graph) - 1, -1, -1):
        start = latest[at] - lead[at]
        for each in graph.waits_for[at]:
            latest[each] = min(latest[each], start)
    slack: Floats = np.maximum(np.array(latest) - graph.nodes.end_ns, 0.0)
    return slack


def _piece(graph: StepGraph, at: int, start: float, end: float, kind: str) -> Piece:
    nodes = graph.nodes
    replica = int(nodes.replica[at])
    return Piece(
        start,
        end,
        kind,
        nodes.op[at],
        nodes.name[at],
        replica if replica >= 0 else None,
        nodes.device[at] or None,
        at,
    )
