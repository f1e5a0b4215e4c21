"""The same op in the same step on every track: what the other replicas needed for it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from strategy_profiles.run.op_scopes import without_replica
from strategy_profiles.timeline.layout import Timeline

_NUMBERS = re.compile(r"((?:_\d{1,18})+)(?=/|$)")


@dataclass(frozen=True, slots=True)
class SameOp:
    """One copy of the op. Times are ns since the timeline's origin."""

    row: int
    start_ns: int
    duration_ns: int
    waited_ns: int
    """Of a collective, the wait for its last rank; -1 if unknown."""


def same_op(timeline: Timeline, row: int, start_ns: int) -> list[SameOp]:
    """Return the op of the span that starts there, and its copies on other tracks, in row order.

    The result is empty if no span starts there. A track without a copy is left out.

    TensorFlow names the copies `dense/MatMul`, `dense/MatMul_1` or `replica_1/dense/MatMul`, and
    two ops of one replica in the same way (`update_0_1/Add` and `update_1_1/Add`): the number alone
    does not tell which. So the ops of each track with equal names but for these numbers are put in
    the order of their numbers, and ops with the same position in that order are copies of each
    other.
    """
    span = timeline.span_at(row, start_ns)
    if span is None:
        return []
    likely = np.flatnonzero(
        (timeline.step == timeline.step[span]) & (timeline.op == timeline.op[span])
    )
    plain = _plain(timeline.names[timeline.name[span]])
    alike = [i for i in likely.tolist() if _plain(timeline.names[timeline.name[i]]) == plain]
    alike.sort(key=lambda i: (_numbers(timeline.names[timeline.name[i]]), int(timeline.start[i])))
    rows = np.searchsorted(timeline.row_starts, alike, side="right") - 1
    by_track = [
        [i for i, at in zip(alike, rows.tolist(), strict=True) if at in track.rows]
        for track in timeline.tracks
    ]
    position = next(spans.index(span) for spans in by_track if span in spans)
    copies = np.array([spans[position] for spans in by_track if position < len(spans)], np.int64)
    return [
        SameOp(
            int(np.searchsorted(timeline.row_starts, i, side="right")) - 1,
            int(timeline.start[i]),
            int(timeline.end[i] - timeline.start[i]),
            waited,
        )
        for i, waited in zip(copies.tolist(), timeline.waited(copies).tolist(), strict=True)
    ]


def _plain(name: str) -> str:
    return _NUMBERS.sub("", without_replica(name))


def _numbers(name: str) -> list[list[int]]:
    """The numbers at the end of each part of a name; a part without any comes first."""
    matches = (_NUMBERS.search(part) for part in without_replica(name).split("/"))
    return [[int(number) for number in each[1].split("_")[1:]] if each else [] for each in matches]
