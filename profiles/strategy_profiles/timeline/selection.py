"""What a part of the timeline consists of: phases of its replicas, ops by self time, collectives.

Everything is cut to the selected range: of an op that reaches beyond it, the part inside counts.
Phases are those of the captured steps in the range. A step that the range cuts is split by the rule
of `strategy_profiles.capture.attribution`, with the step as the only call.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.tables.columns import Ints
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.timeline.layout import Timeline, Track
from strategy_profiles.timeline.self_time import self_times

MAX_OPS = 200
_IDLE = "idle"
_BY_PRIORITY = ("delay", "compute", "transfer", "wait", "input")
"""A moment counts as the first of these phases that its replica is in, else as idle."""


@dataclass(frozen=True, slots=True)
class ReplicaPart:
    """A replica's ops in the range, and its phases in the captured steps of the range."""

    replica: int | None
    """None for tracks that serve all replicas; these have no phases."""
    num_ops: int
    phases_ns: dict[str, int] | None


@dataclass(frozen=True, slots=True)
class OpUse:
    """An op of a track, all its spans in the range together."""

    name: str
    op: str
    track: int
    count: int
    self_ns: int
    """Without the time in which the same thread ran other spans inside of it."""
    total_ns: int
    share: float
    """`self_ns` as a share of the self time of all ops in the range."""


@dataclass(frozen=True, slots=True)
class TransferGroup:
    """Collectives or sends of one kind that begin in the range."""

    kind: str
    count: int
    bytes: int | None
    """None if the size of one of them is unknown."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer about a range of time on some tracks."""

    from_ns: int
    to_ns: int
    captured_ns: int
    """Length of the captured steps in the range: shares of phases are of this."""
    steps: list[int]
    """Numbers of the first and the last captured step in the range, or empty."""
    num_ops: int
    replicas: list[ReplicaPart]
    moved: list[TransferGroup]
    ops: list[OpUse]
    """The largest self time first, at most `MAX_OPS`."""
    num_op_rows: int
    """How many rows `ops` would have without that limit."""


def select(
    timeline: Timeline,
    from_ns: int,
    to_ns: int,
    tracks: Collection[int] | None = None,
    *,
    by_type: bool = False,
) -> Selection:
    """Return what the range `[from_ns, to_ns)` has on the tracks of these numbers, or on all.

    With `by_type`, the ops of one type on a track are one row, without a name.
    """
    to_ns = max(to_ns, from_ns)
    chosen = [i for i in range(len(timeline.tracks)) if tracks is None or i in tracks]
    inside = {number: _inside(timeline, number, from_ns, to_ns) for number in chosen}
    steps = _steps_in(timeline, from_ns, to_ns)
    begun, ended = _bounds(timeline, steps)
    captured = Intervals.union((np.maximum(begun, from_ns), np.minimum(ended, to_ns)))
    numbers = [timeline.steps["step"][i] for i in steps.tolist()]
    ops, num_rows = _ops(timeline, inside, from_ns, to_ns, by_type)
    return Selection(
        from_ns=from_ns,
        to_ns=to_ns,
        captured_ns=int((captured.ends - captured.starts).sum()),
        steps=[numbers[0], numbers[-1]] if numbers else [],
        num_ops=sum(len(spans) for spans in inside.values()),
        replicas=_replicas(timeline, inside, steps, from_ns, to_ns),
        moved=[
            *_collectives(timeline, chosen, from_ns, to_ns),
            *_sends(timeline, chosen, from_ns, to_ns),
        ],
        ops=ops,
        num_op_rows=num_rows,
    )


def _inside(timeline: Timeline, number: int, from_ns: int, to_ns: int) -> Ints:
    """Return the track's spans in the range; one of no length counts if it starts there."""
    parts = []
    for row in timeline.tracks[number].rows:
        first, last = timeline.row_starts[row], timeline.row_starts[row + 1]
        low = first + int(np.searchsorted(timeline.end[first:last], from_ns, side="right"))
        high = first + int(np.searchsorted(timeline.start[first:last], to_ns, side="left"))
        parts.append(np.arange(low, max(low, high)))
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _steps_in(timeline: Timeline, from_ns: int, to_ns: int) -> Ints:
    start, end = _bounds(timeline)
    return np.flatnonzero((start < to_ns) & (end > from_ns))


def _bounds(timeline: Timeline, steps: Ints | slice = slice(None)) -> tuple[Ints, Ints]:
    """Return when each of these captured steps begins and ends."""
    start, end = (np.array(timeline.steps[key], np.int64)[steps] for key in ("start", "end"))
    return start, end


def _replicas(
    timeline: Timeline, inside: dict[int, Ints], steps: Ints, from_ns: int, to_ns: int
) -> list[ReplicaPart]:
    of_replica: dict[int | None, list[int]] = {}
    for number in inside:
        of_replica.setdefault(timeline.tracks[number].replica, []).append(number)
    parts = []
    for replica in sorted(of_replica, key=lambda r: (r is None, r)):
        numbers = of_replica[replica]
        phases = None
        if replica is not None and len(steps):
            phases = _phases(timeline, replica, numbers, steps, (from_ns, to_ns))
        parts.append(ReplicaPart(replica, sum(len(inside[n]) for n in numbers), phases))
    return parts


def _phases(
    timeline: Timeline, replica: int, numbers: Sequence[int], steps: Ints, range_ns: tuple[int, int]
) -> dict[str, int]:
    """Return the phases of a replica in the captured steps of the range, in ns.

    Whole steps have theirs from the capture. Steps that the range cuts are split here.
    """
    start, end = _bounds(timeline, steps)
    is_whole = (start >= range_ns[0]) & (end <= range_ns[1])
    recorded = timeline.split_steps
    rows = (recorded["replica"] == replica) & np.isin(recorded["step"], steps[is_whole])
    is_cut = ~np.isin(steps, recorded["step"][rows])
    pieces = Intervals.union(
        (np.maximum(start[is_cut], range_ns[0]), np.minimum(end[is_cut], range_ns[1]))
    )
    cut = _split(timeline, numbers, steps[is_cut], pieces)
    return {name: int(recorded[name][rows].sum()) + cut.get(name, 0) for name in CATEGORIES}


def _split(
    timeline: Timeline, numbers: Sequence[int], steps: Ints, pieces: Intervals
) -> dict[str, int]:
    """Split pieces of steps, on the tracks of one replica."""
    if not pieces.starts.size:
        return {}
    pieces_of: dict[str, list[tuple[Ints, Ints]]] = {name: [] for name in _BY_PRIORITY}
    windows = list(zip(pieces.starts.tolist(), pieces.ends.tolist(), strict=True))
    # The host fetches the batch for all replicas of its process, whether or not it is selected.
    workers = {timeline.tracks[number].worker for number in numbers}
    for each, track in enumerate(timeline.tracks):
        is_host = track.replica is None and track.worker in workers
        if each not in numbers and not is_host:
            continue
        spans = np.concatenate([_inside(timeline, each, *window) for window in windows])
        for name in ("input",) if is_host else _BY_PRIORITY:
            pieces_of[name].append(_of_category(timeline, spans, name))
    links = timeline.links
    rows = [row for number in numbers for row in timeline.tracks[number].rows]
    ranks = np.isin(links["row"], rows) & (links["is_derived"] == 0)
    pieces_of["wait"].append((links["start"][ranks], links["moving"][ranks]))
    pieces_of["transfer"].append((links["moving"][ranks], links["end"][ranks]))
    pieces_of["wait"] += [_until_all_are_done(timeline, number, steps) for number in numbers]
    covered, before, lengths = Intervals.union(), 0, {}
    for name in _BY_PRIORITY:
        covered = covered | Intervals.union(*pieces_of[name])
        total = int(covered.length_within(pieces.starts, pieces.ends).sum())
        lengths[name], before = total - before, total
    lengths[_IDLE] = int((pieces.ends - pieces.starts).sum()) - before
    return lengths


def _until_all_are_done(timeline: Timeline, number: int, steps: Ints) -> tuple[Ints, Ints]:
    """Return the waits of a device from its last op in a step until its worker's last op there.

    In-graph timestamps do not say when a device was done.
    """
    mine = timeline.tracks[number]
    if mine.is_marked:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    begun, ended = _bounds(timeline, steps)
    own = _last_ends(timeline, mine, begun, ended)
    devices = [each for each in timeline.tracks if each.device and each.worker == mine.worker]
    of_all = [_last_ends(timeline, each, begun, ended) for each in devices]
    all_done = np.max([begun, *of_all], axis=0)
    return own, np.where(own > begun, all_done, own)


def _last_ends(timeline: Timeline, track: Track, begun: Ints, ended: Ints) -> Ints:
    """Return the end of the track's last span in each step, or the step's begin without one."""
    last = begun
    for row in track.rows:
        ends = timeline.end[timeline.row_starts[row] : timeline.row_starts[row + 1]]
        at = np.searchsorted(ends, ended, side="right") - 1
        last = np.where(at >= 0, np.maximum(last, ends[at]), last)
    return last


def _of_category(timeline: Timeline, spans: Ints, name: str) -> tuple[Ints, Ints]:
    if name not in timeline.categories:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    of_kind = spans[timeline.category[spans] == timeline.categories.index(name)]
    return timeline.start[of_kind], timeline.end[of_kind]


def _ops(
    timeline: Timeline, inside: dict[int, Ints], from_ns: int, to_ns: int, by_type: bool
) -> tuple[list[OpUse], int]:
    """Return the rows of the largest self time, and the number of rows that there are."""
    spans = np.concatenate([np.empty(0, np.int64), *inside.values()])
    track = np.repeat(list(inside), [len(each) for each in inside.values()]).astype(np.int64)
    if not len(spans):
        return [], 0
    start = np.maximum(timeline.start[spans], from_ns)
    end = np.minimum(timeline.end[spans], to_ns)
    own = self_times(start, end, track, timeline.threads(spans))
    name = 0 if by_type else timeline.name[spans]
    keys = (track * len(timeline.names) + name) * len(timeline.ops) + timeline.op[spans]
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    self_ns = np.bincount(group, weights=own)
    total_ns = np.bincount(group, weights=end - start)
    count = np.bincount(group)
    whole = float(self_ns.sum()) or 1.0
    largest = np.argsort(-self_ns, kind="stable")[:MAX_OPS]
    rows = [
        OpUse(
            name="" if by_type else timeline.names[timeline.name[spans[first[i]]]],
            op=timeline.ops[timeline.op[spans[first[i]]]],
            track=int(track[first[i]]),
            count=int(count[i]),
            self_ns=int(self_ns[i]),
            total_ns=int(total_ns[i]),
            share=float(self_ns[i]) / whole,
        )
        for i in largest.tolist()
    ]
    return rows, len(first)


def _collectives(
    timeline: Timeline, chosen: Sequence[int], from_ns: int, to_ns: int
) -> list[TransferGroup]:
    """Each collective counts once, however many of its ranks begin in the range."""
    links = timeline.links
    rows = [row for number in chosen for row in timeline.tracks[number].rows]
    begins = (links["start"] >= from_ns) & (links["start"] < to_ns)
    ranks = np.flatnonzero(begins & np.isin(links["row"], rows))
    _, first = np.unique(links["group"][ranks], return_index=True)
    return _moved(timeline.link_ops, links["op"][ranks[first]], links["bytes"][ranks[first]])


def _sends(
    timeline: Timeline, chosen: Sequence[int], from_ns: int, to_ns: int
) -> list[TransferGroup]:
    sends = timeline.sends
    begins = (sends["start"] >= from_ns) & (sends["start"] < to_ns)
    rows = [row for number in chosen for row in timeline.tracks[number].rows]
    touches = np.isin(sends["from_row"], rows) | np.isin(sends["to_row"], rows)
    sizes = sends["bytes"][begins & touches]
    return _moved(["send"], np.zeros(len(sizes), np.int64), sizes)


def _moved(kinds: Sequence[str], kind: Ints, sizes: Ints) -> list[TransferGroup]:
    return [
        TransferGroup(
            kind=kinds[number],
            count=int((kind == number).sum()),
            bytes=int(sizes[kind == number].sum()) if (sizes[kind == number] >= 0).all() else None,
        )
        for number in np.unique(kind).tolist()
    ]
