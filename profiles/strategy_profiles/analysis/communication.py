"""What did the replicas send each other, how much, how fast?

A collective's size S is what the whole group reduces, gathers or spreads; its time is its
transfer alone, the waiting for the last member left out. Calls and bytes are those of all captured
steps, times those of the typical ones (the middle half by wall time).
algbw = S / t and busbw = algbw * f (nccl-tests, PERFORMANCE.md), in 10^9 bytes per second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.breakdown import NO_OPS
from strategy_profiles.analysis.no_capture import LOST, capture_problems
from strategy_profiles.analysis.scopes import scoped
from strategy_profiles.analysis.steps import typical_steps
from strategy_profiles.capture.bandwidth import bandwidth, bus_factor
from strategy_profiles.capture.grouping import groups_by
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.capture.reductions import LAB_MARKS
from strategy_profiles.run.events import PlacementRecorded, SegmentOpened, WindowCaptured
from strategy_profiles.tables.columns import (
    Floats,
    Ints,
    codes,
    distinct,
    floats,
    ints,
    is_one_of,
    mean,
    of_segment,
)
from strategy_profiles.tables.store import Profile

NO_WINDOW = "the segment has no capture window"
SIZES_UNKNOWN = "the size of at least one tensor is only known when the step runs"
SHARED_NAMES = (
    "functions in turns have collectives of the same name and different sizes, and the profiler's "
    "events have only the name"
)
NO_COLLECTIVE = "no collective in the captured steps"
UNKNOWN_USE = "its size or its time is not known"


class CollectiveUse(Struct, frozen=True):
    """One kind of collective in one group size, per step."""

    op: str
    group_size: int | None
    per_step: float
    """Calls that a replica takes part in."""
    bytes: float | None
    """S of all those calls together."""
    wait_ms: float | None
    """How much of a step a replica waits in these calls: calls in flight together count once, so
    it is never more than the step. A mean over all replicas and typical steps; `transfer_ms`
    likewise."""
    transfer_ms: float | None
    call_wait_ms: float | None
    """Mean of one call; `call_transfer_ms` likewise."""
    call_transfer_ms: float | None
    algbw_gbps: float | None
    busbw_gbps: float | None
    source: str | None
    layers: tuple[str, ...] = ()
    """Layers that make such calls in their own scope, the most frequent first. Calls that reduce
    gradients are in none."""
    known_bytes_per_call: float | None = None
    """Mean size of the calls whose size is known; None if those of most calls are not."""

    @property
    def bytes_per_call(self) -> float | None:
        return None if self.bytes is None or not self.per_step else self.bytes / self.per_step

    @property
    def why_no_busbw(self) -> str | None:
        """Why there is no bus bandwidth; None if there is one."""
        if self.busbw_gbps is not None:
            return None
        if self.algbw_gbps is None:
            return UNKNOWN_USE
        if self.group_size is None:
            return f"how many ranks take part in the {self.op} is not known"
        return f"nccl-tests has no factor for {self.op} in a group of {self.group_size}"


class Traffic(Struct, frozen=True):
    """What one device sent another, per step."""

    send_device: str
    recv_device: str
    bytes: float | None
    num_transfers: float
    duration_ms: float | None
    source: str
    """`measured` for sends of the runtime, `ring model` for a collective's share."""


class Communication(Struct, frozen=True):
    """A segment's communication; `reason` says why its collectives, or their bytes, are missing."""

    segment: int
    num_steps: int
    collectives: tuple[CollectiveUse, ...]
    traffic: tuple[Traffic, ...]
    collective_bytes: float | None
    transfer_bytes: float | None
    reason: str | None = None
    why_no_transfers: str | None = None
    """Why the bytes of the transfers are not known."""

    @property
    def main(self) -> CollectiveUse | None:
        """The collective that moves most bytes; one with a bus bandwidth comes first."""
        return max(
            self.collectives,
            key=lambda use: (use.busbw_gbps is not None, use.bytes or 0),
            default=None,
        )

    @property
    def why_no_bytes(self) -> str | None:
        """Why the bytes of the collectives are not known."""
        return self.reason if self.reason or self.collectives else NO_COLLECTIVE

    @property
    def why_no_busbw(self) -> str | None:
        """Why the main collective, or its bus bandwidth, is not known."""
        return self.main.why_no_busbw if self.main else self.reason or NO_COLLECTIVE


def collectives_of(profile: Profile, segment: int) -> pa.Table:
    """The collectives of the program in a segment."""
    return of_program(of_segment(profile.table("collectives"), segment))


def of_program(rows: pa.Table) -> pa.Table:
    """Rows of `collectives` without the gather of the lab's own timestamps."""
    return rows.filter(pa.array(~is_one_of(rows, "op", (LAB_MARKS,))))


def of_one_capture(segment: int, rows: pa.Table, captured: pa.Table) -> Communication:
    """The collectives of one capture window, as for `collective_uses`; transfers are left out."""
    rows = of_program(rows)
    uses, num_steps = collective_uses(rows, captured), len(np.unique(ints(captured, "step")))
    moved = _collective_bytes(uses)
    reason = SIZES_UNKNOWN if moved is None else None
    return Communication(segment, num_steps, uses, (), moved, None, reason)


def communication(profile: Profile, segment: SegmentOpened) -> Communication:
    """Return what a segment communicates, per captured step.

    Bytes are None if a size is unknown, times if the records of a worker are missing.
    """
    captured = of_segment(profile.table("replica_steps"), segment.segment)
    num_steps = len(np.unique(ints(captured, "step")))
    if not num_steps:
        windows = [w for w in profile.events(WindowCaptured) if w.segment == segment.segment]
        is_captured = any(window.error is None for window in windows)
        why = NO_OPS if is_captured else NO_WINDOW
        if problems := capture_problems(profile, segment.segment):
            why = problems[0]
        if profile.is_lost("replica_steps"):
            why = LOST
        reasons = profile.unknown
        reason = reasons.get("steps", reasons.get("collectives", why))
        return Communication(segment.segment, 0, (), (), None, None, reason, reason)
    collectives = collectives_of(profile, segment.segment)
    transfers = of_segment(profile.table("transfers"), segment.segment)
    uses = collective_uses(collectives, captured)
    if profile.absent_workers(segment):
        # What looks like transfer may be waiting for a worker whose records are missing.
        uses = tuple(map(_without_times, uses))
    sizes = floats(transfers, "bytes")
    moved = _collective_bytes(uses)
    sent = float(sizes.sum()) / num_steps if np.isfinite(sizes).all() else None
    return Communication(
        segment=segment.segment,
        num_steps=num_steps,
        collectives=uses,
        traffic=(*_sends(transfers, num_steps), *_ring_shares(uses, segment.replica_devices)),
        collective_bytes=moved,
        transfer_bytes=sent,
        reason=(
            _why_no_size(profile, segment.segment, collectives)
            if moved is None
            else profile.unknown.get("collectives")
        ),
        why_no_transfers=(
            profile.unknown.get("transfers", SIZES_UNKNOWN) if sent is None else None
        ),
    )


def _why_no_size(profile: Profile, segment: int, collectives: pa.Table) -> str:
    """Why the size of at least one collective of a segment is unknown."""
    if "bytes" in profile.unknown:
        return profile.unknown["bytes"]
    shared = {
        name
        for event in profile.events(PlacementRecorded)
        if event.segment == segment
        for name in event.shared_names
    }
    unknown = collectives.filter(pa.array(~np.isfinite(floats(collectives, "bytes"))))
    names = set(unknown["name"].unique().to_pylist())
    return SHARED_NAMES if names & shared else SIZES_UNKNOWN


def _collective_bytes(uses: Sequence[CollectiveUse]) -> float | None:
    known = [use.bytes for use in uses if use.bytes is not None]
    return sum(known) if len(known) == len(uses) else None


def _without_times(use: CollectiveUse) -> CollectiveUse:
    return replace(
        use,
        wait_ms=None,
        transfer_ms=None,
        call_wait_ms=None,
        call_transfer_ms=None,
        algbw_gbps=None,
        busbw_gbps=None,
    )


def collective_uses(rows: pa.Table, captured: pa.Table) -> tuple[CollectiveUse, ...]:
    """Rows of `collectives` by op and group size; `captured` is `replica_steps` of those steps."""
    step = ints(captured, "step")
    num_steps = len(np.unique(step))
    if not num_steps:
        return ()
    typical = typical_steps(step, floats(captured, "wall_ms"))
    num_timed = int(np.isin(step, typical).sum())
    op, ops = names_of(rows, "op")
    sizes, size = distinct(ints(rows, "group_size"))
    groups, group = distinct(op * len(sizes) + size)
    uses = []
    for number, key in enumerate(groups.tolist()):
        members = rows if len(groups) == 1 else rows.filter(pa.array(group == number))
        kind = ops[key // len(sizes)], int(sizes[key % len(sizes)])
        uses.append(_one_use(members, *kind, num_steps, typical, num_timed))
    return tuple(uses)


def names_of(rows: pa.Table, column: str, missing: str = "unknown") -> tuple[Ints, list[str]]:
    """Return each row's text in a column as a number of the sorted texts; none is `missing`."""
    number, names = codes(rows, column)
    known = sorted({name or missing for name in names})
    places = np.array([known.index(name or missing) for name in names], np.int64)
    return places[number], known


def _one_use(
    rows: pa.Table, op: str, size: int, num_steps: int, typical: Ints, num_timed: int
) -> CollectiveUse:
    sizes = floats(rows, "bytes")
    weights = row_weights(ints(rows, "step"), ints(rows, "replica"), size)
    timed = rows.filter(pa.array(np.isin(ints(rows, "step"), typical)))
    algbw, busbw = bandwidth(*_moved(timed), op, size)
    sources = {source for source in rows["source"].unique().to_pylist() if source}
    wait_ms, transfer_ms = _mean_wait_and_transfer(timed, num_timed)
    is_known = np.isfinite(sizes)
    known = float(weights[is_known].sum())
    return CollectiveUse(
        op=op,
        group_size=size if size > 0 else None,
        per_step=float(weights.sum()) / num_steps,
        bytes=float(weights @ sizes) / num_steps if is_known.all() else None,
        wait_ms=wait_ms,
        transfer_ms=transfer_ms,
        call_wait_ms=mean(floats(timed, "wait_ms")),
        call_transfer_ms=mean(floats(timed, "transfer_ms")),
        algbw_gbps=algbw,
        busbw_gbps=busbw,
        source="/".join(sorted(sources)) or None,
        layers=_layers(rows),
        known_bytes_per_call=float(weights[is_known] @ sizes[is_known]) / known
        if known > weights.sum() / 2
        else None,
    )


def _layers(rows: pa.Table) -> tuple[str, ...]:
    number, names = codes(rows, "name")
    counts = Counter[str]()
    for name, count in zip(names, np.bincount(number, minlength=len(names)), strict=True):
        path = scoped(name).path
        if len(path) > 2:  # model, layer, op
            counts[path[-2]] += int(count)
    return tuple(layer for layer, _ in counts.most_common())


def row_weights(step: Ints, replica: Ints, size: int) -> Floats:
    """Return how much each row of `collectives` counts, so that the sum is the calls of a replica.

    `step` and `replica` are the rows' columns, all of one kind of call in groups of `size`.
    Each replica of a group has its row of the same call, unless TensorFlow's profiler stopped
    before it recorded one: a collective still ends in its own thread when its step is over, and on
    a busy machine the last step of a capture lacked the row of one replica. Therefore the replica
    with most rows in a step counts for its group. Groups may differ, so several are averaged.
    """
    replicas, replica = np.unique(replica, return_inverse=True)
    if size < len(replicas):
        return np.full(len(replica), 1 / len(replicas))
    steps, step = np.unique(step, return_inverse=True)
    calls = np.zeros((len(steps), len(replicas)))
    np.add.at(calls, (step, replica), 1)
    fullest: Ints = calls.argmax(axis=1)
    return np.equal(fullest[step], replica).astype(np.float64)


def _mean_wait_and_transfer(rows: pa.Table, num_timed: int) -> tuple[float | None, float | None]:
    """Return `(wait, transfer)` of a replica in a step in ms, means over replicas and steps, as the
    phases of the breakdown are: also over those without such a call (`num_timed` in all).

    A call waits for `wait_ms` from its start, then transfers for `transfer_ms`. Calls that overlap
    in one replica count once. Returns `(None, None)` without calls or if one has no times.
    """
    wait, transfer = floats(rows, "wait_ms"), floats(rows, "transfer_ms")
    if not rows.num_rows or not np.isfinite(wait + transfer).all():
        return None, None
    start = ints(rows, "start_ns")
    group = groups_by(*(ints(rows, name) for name in ("step", "worker", "replica")))
    num_groups = int(group.max()) + 1
    # Calls of different replicas or steps must not merge. Shift each group's times to a range of
    # its own, then one vectorised union serves all groups.
    first = np.full(num_groups, np.iinfo(np.int64).max)
    np.minimum.at(first, group, start)
    begin = start - first[group]
    range_ns = int((begin + np.rint((wait + transfer) * 1e6).astype(np.int64)).max()) + 1
    begin += group * range_ns
    moving = begin + np.rint(wait * 1e6).astype(np.int64)
    end = moving + np.rint(transfer * 1e6).astype(np.int64)
    unions = (Intervals.union((begin, moving)), Intervals.union((moving, end)))
    waited, moved = (float((union.ends - union.starts).sum()) / 1e6 for union in unions)
    return waited / num_timed, moved / num_timed


def _moved(rows: pa.Table) -> tuple[float, float]:
    """Return the bytes and the seconds of all rows that know both."""
    sizes, transfer = floats(rows, "bytes"), floats(rows, "transfer_ms")
    both = np.isfinite(sizes) & np.isfinite(transfer)
    return float(sizes[both].sum()), float(transfer[both].sum()) / 1e3


def _sends(rows: pa.Table, num_steps: int) -> list[Traffic]:
    send, senders = names_of(rows, "send_device")
    recv, receivers = names_of(rows, "recv_device")
    pairs, pair = distinct(send * len(receivers) + recv)
    sizes, lengths = floats(rows, "bytes"), floats(rows, "duration_ms")
    traffic = []
    for number, key in enumerate(pairs.tolist()):
        moved, took = sizes[pair == number], lengths[pair == number]
        traffic.append(
            Traffic(
                send_device=senders[key // len(receivers)],
                recv_device=receivers[key % len(receivers)],
                bytes=float(moved.sum()) / num_steps if np.isfinite(moved).all() else None,
                num_transfers=len(moved) / num_steps,
                duration_ms=float(took.sum()) / num_steps if np.isfinite(took).all() else None,
                source="measured",
            )
        )
    return traffic


def _ring_shares(uses: tuple[CollectiveUse, ...], devices: list[str]) -> list[Traffic]:
    """What each device sends its neighbour in a ring over all replicas: f * S of a collective."""
    shares = [
        factor * use.bytes
        for use in uses
        if use.group_size == len(devices)
        and use.bytes is not None
        and (factor := bus_factor(use.op, use.group_size)) is not None
    ]
    if not shares:
        return []
    neighbours = zip(devices, [*devices[1:], devices[0]], strict=True)
    return [Traffic(send, recv, sum(shares), 0.0, None, "ring model") for send, recv in neighbours]
