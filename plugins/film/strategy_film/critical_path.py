"""The critical path of a step: the chain of work that decides how long it takes.

It is followed backward from the last op of the step, as in Boehme et al., Scalable Critical-Path
Based Performance Analysis, 2012: through a node's own states until a wait that another node ends,
then through that node. The node that ends the wait in a collective is the one that enters last; the
one that ends the wait for a tensor is its sender. A wait whose other end is unknown stays on the
path of the node that waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from strategy_film.scene import Node, PathPiece, Wait

_NEAR_NS = 2_000
"""A wait's length is recorded in ms as a float, and its other end by another clock."""
_BUSY = ("idle", "wait", "outside")


def critical_path(
    nodes: Sequence[Node], waits: Sequence[Wait], length_ns: int
) -> tuple[PathPiece, ...]:
    """Return the pieces in order of time; together they cover the film."""
    if not any(node.states for node in nodes):
        return ()
    ends_of: dict[int, list[Wait]] = {}
    for wait in waits:
        ends_of.setdefault(wait.node, []).append(wait)
    at, until = _last_busy(nodes), length_ns
    pieces: list[PathPiece] = []
    seen: set[tuple[int, int]] = set()
    while True:
        ended = _last_wait(nodes[at], ends_of.get(at, ()), until)
        if ended is None or (at, ended.end_ns) in seen:
            pieces.append(PathPiece(0, until, at))
            break
        seen.add((at, ended.end_ns))
        begun = min(ended.end_ns, until)
        pieces.append(PathPiece(begun, until, at))
        at, until = ended.awaited, begun
    return tuple(piece for piece in reversed(pieces) if piece.end_ns > piece.start_ns)


def _last_busy(nodes: Sequence[Node]) -> int:
    """Return the node whose last work ends last."""

    def last_work(at: int) -> int:
        return max((s.end_ns for s in nodes[at].states if s.phase not in _BUSY), default=-1)

    return max(range(len(nodes)), key=last_work)


def _last_wait(node: Node, waits: Sequence[Wait], until: int) -> Wait | None:
    """Return the last wait that another node ended before `until`, if the node did wait then."""
    best: Wait | None = None
    for wait in waits:
        ended = min(wait.end_ns, until)
        if wait.end_ns > until + _NEAR_NS or (best and wait.end_ns <= best.end_ns):
            continue
        if any(
            state.phase == "wait"
            and state.start_ns < ended
            and abs(state.end_ns - wait.end_ns) <= _NEAR_NS
            for state in node.states
        ):
            best = wait
    return best
