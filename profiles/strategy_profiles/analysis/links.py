"""How many bytes did each process send each other, and what did the wire add?

Three sources, never mixed. Measured on sockets: the payload of the TCP connections between two
processes, as the kernel counts it, reported by the process that opened the connection and knows
its peer. Measured on interfaces: frames with their headers, where a process has an interface of its
own. Derived: what a step has to move (`derived_links`).

Counts are cumulative and taken at the end of a step about every second: bytes per step are the
difference between a segment's first and last count over the steps between them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.derived_links import Pair, derived_bytes
from strategy_profiles.run.events import Launched, LinkBytes, SegmentOpened
from strategy_profiles.run.topology import has_coordinator
from strategy_profiles.tables.columns import (
    Floats,
    Ints,
    floats,
    ints,
    of_segment,
    texts,
)
from strategy_profiles.tables.link_rows import INTERFACE, SOCKET
from strategy_profiles.tables.store import Profile

HEADER_BYTES = 66
"""Ethernet (14), IPv4 (20) and TCP with timestamps (32) around each frame."""
ALONE = "the segment ran in one process"
COUNTED_ONCE = "its links were counted only once; bytes per step need a longer run"
NOT_COUNTED = "its links were not counted"

_EACH = ("bytes", "packets", "retransmitted_bytes")
_COUNT = ("worker", "generation", "at_ns")


class Link(Struct, frozen=True):
    """What one process sent another, per step."""

    from_worker: int
    to_worker: int
    bytes: float | None
    """Measured: TCP payload, each byte once."""
    packets: float | None = None
    """Segments as a wire would carry them, acknowledgements too."""
    retransmitted_bytes: float | None = None
    rtt_ms: float | None = None
    """Smoothed round trip of TCP's acknowledgements, when last counted."""
    derived_bytes: float | None = None
    """What a step has to move over this link."""

    @property
    def overhead(self) -> float | None:
        """Share that gRPC and everything else adds to what a step has to move."""
        if self.bytes is None or not self.derived_bytes:
            return None
        return self.bytes / self.derived_bytes - 1

    @property
    def header_bytes(self) -> float | None:
        """Derived: Ethernet, IP and TCP headers around its packets."""
        return None if self.packets is None else self.packets * HEADER_BYTES


class InterfaceUse(Struct, frozen=True):
    """What passed one process's own interface in one direction, per step."""

    worker: int
    direction: str
    """`sent` or `received`."""
    bytes: float
    frames: float
    payload_bytes: float
    """The links' part of it: TCP payload."""
    retransmitted_bytes: float

    @property
    def header_bytes(self) -> float:
        """Derived from the frames."""
        return self.frames * HEADER_BYTES

    @property
    def overhead(self) -> float | None:
        """Share that headers and retransmissions add to the payload, as measured."""
        return self.bytes / self.payload_bytes - 1 if self.payload_bytes else None

    @property
    def unexplained(self) -> float | None:
        """Share of the interface's bytes that links, headers and retransmissions leave open."""
        explained = self.payload_bytes + self.retransmitted_bytes + self.header_bytes
        return (self.bytes - explained) / self.bytes if self.bytes else None


class Links(Struct, frozen=True):
    """The traffic between the processes of a segment; `reason` says why none was measured."""

    segment: int
    names: dict[int, str]
    """What each process is, by number: `worker 1`, `parameter server 0`."""
    num_steps: float
    """Steps between the first and the last count, of the process that did the most."""
    links: tuple[Link, ...]
    interfaces: tuple[InterfaceUse, ...]
    derived_from: str | None
    """One of the sources of `derived_links`; None if nothing is known."""
    reason: str | None = None

    @property
    def overhead(self) -> float | None:
        """Return `Link.overhead` over all links that have both numbers; None without one."""
        both = [link for link in self.links if link.overhead is not None]
        measured = sum(link.bytes or 0.0 for link in both)
        derived = sum(link.derived_bytes or 0.0 for link in both)
        return measured / derived - 1 if derived else None

    @property
    def header_share(self) -> float | None:
        """Derived: share that the headers of their packets add to the bytes of all links."""
        payload = sum(link.bytes or 0.0 for link in self.links)
        headers = sum(link.header_bytes or 0.0 for link in self.links)
        return headers / payload if payload else None


def links(profile: Profile, segment: SegmentOpened) -> Links:
    """The links of a segment, per step."""
    names = process_names(profile, segment)
    if len(names) < 2:
        return Links(segment.segment, names, 0.0, (), (), None, profile.unknown.get("links", ALONE))
    derived, source = derived_bytes(profile, segment)
    rows = _rows_of(profile, segment)
    slopes = list(_slopes(profile, rows))
    measured = _by_pair(slopes)
    pairs = sorted({*measured, *derived})
    own = tuple(
        replace(measured.get(pair, Link(*pair, None)), derived_bytes=derived.get(pair))
        for pair in pairs
    )
    reason = None if measured else _why_not(profile, rows)
    num_steps = max((slope.num_steps for slope in slopes), default=0.0)
    interfaces = tuple(_interfaces(slopes, own))
    return Links(segment.segment, names, num_steps, own, interfaces, source, reason)


def process_names(profile: Profile, segment: SegmentOpened) -> dict[int, str]:
    """What each process of the segment's cluster is called, by number."""
    is_coordinated = has_coordinator(segment)
    if segment.num_workers < 2 and not is_coordinated:
        return {0: "worker 0"}
    names: dict[int, str] = {}
    for event in profile.events(Launched):
        if event.task:
            names[event.worker] = event.task
    every = {*names, *ints(profile.table("links"), "worker").tolist()}
    every = every if is_coordinated else {*range(segment.num_workers)}
    return {worker: names.get(worker, f"worker {worker}") for worker in sorted(every)}


class _Slope(Struct, frozen=True):
    """One direction of what one process counted, per step."""

    worker: int
    from_worker: int
    to_worker: int
    opened: bool
    source: str
    num_steps: float
    bytes: float
    packets: float
    retransmitted_bytes: float | None
    rtt_ms: float | None


def _rows_of(profile: Profile, segment: SegmentOpened) -> pa.Table:
    """Counts within the segment: those of processes that do no steps by their time.

    Such a process counts every two seconds. In a short segment its last count before the segment is
    taken as well, without which there would be no difference.
    """
    table, steps = profile.table("links"), of_segment(profile.table("steps"), segment.segment)
    if not steps.num_rows:
        return table.slice(0, 0)
    begin = int(ints(steps, "start_ns").min())
    end = int((ints(steps, "start_ns") + floats(steps, "wall_ms") * 1e6).max())
    at = table["at_ns"]
    inside = pc.and_(pc.greater_equal(at, begin), pc.less_equal(at, end + 2_000_000_000))
    without = pc.and_(pc.is_null(table["segment"]), inside)
    own = pc.fill_null(pc.equal(table["segment"], segment.segment), False)
    rows = table.filter(pc.or_(own, without))
    timed = table.filter(pc.is_null(table["segment"]))
    earlier = timed.filter(pc.less(timed["at_ns"], begin))
    return pa.concat_tables([_last_counts(earlier, rows), rows])


def _last_counts(earlier: pa.Table, inside: pa.Table) -> pa.Table:
    """The last earlier count of each process that counted once inside."""
    before = _counts_of(earlier)
    wanted = {
        (*process, max(before[process]))
        for process, counts in _counts_of(inside).items()
        if len(counts) == 1 and process in before
    }
    keys = zip(*(ints(earlier, name).tolist() for name in _COUNT), strict=True)
    return earlier.filter(pa.array([key in wanted for key in keys], pa.bool_()))


def _counts_of(rows: pa.Table) -> dict[tuple[int, int], set[int]]:
    """The times of the counts of each process, by worker and generation."""
    times_of: dict[tuple[int, int], set[int]] = defaultdict(set)
    for worker, generation, at_ns in zip(
        *(ints(rows, name).tolist() for name in _COUNT), strict=True
    ):
        times_of[worker, generation].add(at_ns)
    return dict(times_of)


def _slopes(profile: Profile, rows: pa.Table) -> Iterator[_Slope]:
    """Each process's counts per step, from its first to its last in the segment.

    If a process was replaced, the newest one that counted over at least one step is used.
    """
    if not rows.num_rows:
        return
    at, done = ints(rows, "at_ns"), _steps_done(profile, rows)
    worker, generation = ints(rows, "worker"), ints(rows, "generation")
    heard: set[int] = set()
    for who, which in sorted({*zip(worker.tolist(), generation.tolist(), strict=True)})[::-1]:
        if who in heard:
            continue
        own = np.flatnonzero((worker == who) & (generation == which))
        first = own[at[own] == at[own].min()]
        most = own[done[own] == done[own].max()]
        last = most[at[most] == at[most].min()]
        num_steps = float(done[last[0]] - done[first[0]])
        if num_steps > 0:
            heard.add(who)
            yield from _differences(rows, first, last, num_steps)


def _steps_done(profile: Profile, rows: pa.Table) -> Floats:
    """Steps done at each count; in a process without steps, derived from the time."""
    recorded, steps = floats(rows, "step"), profile.table("steps")
    end_ns = ints(steps, "start_ns") + floats(steps, "wall_ms") * 1e6
    order = np.argsort(end_ns)
    numbers = ints(steps, "step")[order] + 1.0
    by_time = np.interp(ints(rows, "at_ns"), end_ns[order], numbers, left=numbers[0] - 1)
    return np.where(np.isfinite(recorded), recorded, by_time)


def _differences(rows: pa.Table, first: Ints, last: Ints, num_steps: float) -> Iterator[_Slope]:
    before = {_key(row): row for row in rows.take(first).to_pylist()}
    for row in rows.take(last).to_pylist():
        start = before.get(_key(row), {})
        growth = {
            name: None if row[name] is None else (row[name] - (start.get(name) or 0)) / num_steps
            for name in _EACH
        }
        yield _Slope(
            worker=row["worker"],
            from_worker=-1 if row["from_worker"] is None else row["from_worker"],
            to_worker=-1 if row["to_worker"] is None else row["to_worker"],
            opened=bool(row["opened"]),
            source=row["source"],
            num_steps=num_steps,
            bytes=growth["bytes"] or 0.0,
            packets=growth["packets"] or 0.0,
            retransmitted_bytes=growth["retransmitted_bytes"],
            rtt_ms=row["rtt_ms"],
        )


def _key(row: dict[str, object]) -> tuple[object, ...]:
    return row["from_worker"], row["to_worker"], row["opened"], row["source"]


def _by_pair(slopes: list[_Slope]) -> dict[Pair, Link]:
    """Both ends' connections together: each is counted by who opened it.

    If a process left no counts, its peers' counts of the connections it opened are used. If they do
    not know who opened these, the link is left out: what the other end opened is not all of it.
    """
    speaking = {slope.worker for slope in slopes}
    together: dict[Pair, list[_Slope]] = defaultdict(list)
    for slope in slopes:
        pair = slope.from_worker, slope.to_worker
        peer = pair[1] if pair[0] == slope.worker else pair[0]
        if slope.source != SOCKET or min(pair) < 0:
            continue
        if slope.opened or peer not in speaking:
            together[pair].append(slope)
    does_not_know = {
        slope.worker
        for slope in slopes
        if slope.source == SOCKET
        and not slope.opened
        and min(slope.from_worker, slope.to_worker) < 0
    }
    retransmitted = _retransmitted(slopes)
    return {
        pair: _one_link(pair, own, retransmitted.get(pair))
        for pair, own in together.items()
        if speaking.issuperset(pair) or not does_not_know.intersection(pair)
    }


def _one_link(pair: Pair, own: list[_Slope], retransmitted_bytes: float | None) -> Link:
    """Return the traffic from the first process of `pair` to the second, as means per step.

    `own` has one item per end and opener; `retransmitted_bytes` is what the sender counted, None
    if it counted nothing.
    """
    round_trips = [s.rtt_ms for s in own if s.rtt_ms is not None]
    return Link(
        *pair,
        bytes=sum(slope.bytes for slope in own),
        packets=sum(slope.packets for slope in own),
        retransmitted_bytes=retransmitted_bytes,
        rtt_ms=min(round_trips, default=None),
    )


def _interfaces(slopes: list[_Slope], all_links: tuple[Link, ...]) -> Iterator[InterfaceUse]:
    """Compare each interface with the links that use it; loopback traffic uses none."""
    passing = [link for link in all_links if link.from_worker != link.to_worker]
    for slope in slopes:
        if slope.source != INTERFACE:
            continue
        is_sent = slope.from_worker == slope.worker
        through = [
            link
            for link in passing
            if (link.from_worker if is_sent else link.to_worker) == slope.worker
        ]
        yield InterfaceUse(
            worker=slope.worker,
            direction="sent" if is_sent else "received",
            bytes=slope.bytes,
            frames=slope.packets,
            payload_bytes=sum(link.bytes or 0.0 for link in through),
            retransmitted_bytes=sum(link.retransmitted_bytes or 0.0 for link in through),
        )


def _retransmitted(slopes: list[_Slope]) -> dict[Pair, float]:
    """Retransmissions by link: only the sender counts them, no matter who opened the connection."""
    num_bytes: dict[Pair, float] = {}
    for slope in slopes:
        pair = slope.from_worker, slope.to_worker
        is_sender = slope.source == SOCKET and pair[0] == slope.worker and pair[1] >= 0
        if is_sender and slope.retransmitted_bytes is not None:
            num_bytes[pair] = num_bytes.get(pair, 0.0) + slope.retransmitted_bytes
    return num_bytes


def _why_not(profile: Profile, rows: pa.Table) -> str:
    for event in profile.events(LinkBytes):
        if event.reason:
            return event.reason
    return COUNTED_ONCE if SOCKET in texts(rows, "source") else NOT_COUNTED
