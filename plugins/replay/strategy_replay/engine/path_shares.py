"""What the critical path of a captured step consists of, by kind of op."""

from __future__ import annotations

from dataclasses import dataclass

from strategy_profiles.step_graph.critical_path import LAUNCH, critical_path, slack_ns
from strategy_profiles.step_graph.graph import ENTER, StepGraph


@dataclass(frozen=True, slots=True)
class PathShare:
    """What one kind of op has of the path."""

    kind: str
    op: str
    num: int
    total_ms: float
    share: float
    """Of the step."""
    slack_ms: float | None
    """Least slack of the kind's nodes that are not on the path; None if all are on it."""


def path_table(graph: StepGraph) -> tuple[PathShare, ...]:
    """Return the path's time by kind and op, the longest first; launch gaps are one kind."""
    pieces = critical_path(graph)
    slack = _slack_by_op(graph, {piece.node for piece in pieces})
    grouped: dict[tuple[str, str], list[float]] = {}
    for piece in pieces:
        op = "" if piece.kind == LAUNCH else piece.op
        grouped.setdefault((piece.kind, op), []).append(piece.length_ns)
    shares = [
        PathShare(
            *key, len(lengths), sum(lengths) / 1e6, sum(lengths) / graph.wall_ns, slack.get(key[1])
        )
        for key, lengths in grouped.items()
    ]
    return tuple(sorted(shares, key=lambda item: -item.total_ms))


def _slack_by_op(graph: StepGraph, on_path: set[int]) -> dict[str, float]:
    slack_of: dict[str, float] = {}
    pairs = zip(graph.nodes.op, (slack_ns(graph) / 1e6).tolist(), strict=True)
    for at, (op, slack_ms) in enumerate(pairs):
        if at not in on_path and graph.nodes.category[at] != ENTER:
            slack_of[op] = min(slack_of.get(op, slack_ms), slack_ms)
    return slack_of
