"""Every collective op of a segment by itself: how often, how large, how fast, who waited in it.

The same figures as in `communication`, there by kind, here by the op in the graph and its replicas:
calls and bytes of all captured steps, times of the typical ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from msgspec import Struct

from strategy_profiles.analysis.communication import collectives_of, names_of, row_weights
from strategy_profiles.analysis.steps import typical_steps
from strategy_profiles.capture.bandwidth import bandwidth
from strategy_profiles.capture.grouping import groups_by
from strategy_profiles.tables.columns import Bools, Floats, Ints, floats, ints, mean, of_segment
from strategy_profiles.tables.store import Profile


class ReplicaCall(Struct, frozen=True):
    """One replica's part in an op: mean milliseconds of a call."""

    replica: int
    wait_ms: float | None
    transfer_ms: float | None


class CollectiveCall(Struct, frozen=True):
    """One collective op of the graph, all its captured calls together."""

    op: str
    name: str
    """The node's name in the graph. The replicas' nodes differ by a suffix and count as one."""
    place: int
    """Number of the call among those of its kind in a step, from 1. The runtime's instance keys
    cannot name an op, because they continue to count from step to step."""
    instances: tuple[int, int] | None
    """First and last instance key; None if the runtime gave none."""
    group_size: int | None
    per_step: float
    """Calls of a replica in a step."""
    bytes: float | None
    """S of one call."""
    wait_ms: float | None
    """Mean over replicas and calls; `transfer_ms` likewise."""
    transfer_ms: float | None
    algbw_gbps: float | None
    busbw_gbps: float | None
    source: str | None
    """Several joined by `/`: `estimated` where the event of a member is missing."""
    bytes_source: str | None
    replicas: tuple[ReplicaCall, ...]


def collective_calls(profile: Profile, segment: int) -> tuple[CollectiveCall, ...]:
    """The collectives of a segment's captured steps, the largest traffic first."""
    captured = of_segment(profile.table("replica_steps"), segment)
    step = ints(captured, "step")
    typical = typical_steps(step, floats(captured, "wall_ms"))
    table = collectives_of(profile, segment)
    if not table.num_rows:
        return ()
    rows = _Rows(table, typical)
    members = groups_by(rows.op, rows.size, rows.place)
    order = np.argsort(members, kind="stable")
    ends = np.cumsum(np.bincount(members))
    calls = [_call_of(rows, each, len(np.unique(step))) for each in np.split(order, ends[:-1])]
    return tuple(sorted(calls, key=lambda call: -(call.bytes or 0) * call.per_step))


class _Rows:
    """The columns of `collectives`, arrays of one length."""

    def __init__(self, table: pa.Table, typical: Ints) -> None:
        self.op, self.ops = names_of(table, "op")
        self.name, self.names = names_of(table, "name", "")
        self.source, self.sources = names_of(table, "source", "")
        self.bytes_source, self.bytes_sources = names_of(table, "bytes_source", "")
        self.step, self.size = ints(table, "step"), ints(table, "group_size")
        self.replica, self.instance = ints(table, "replica"), ints(table, "instance")
        self.bytes = floats(table, "bytes")
        self.wait_ms, self.transfer_ms = floats(table, "wait_ms"), floats(table, "transfer_ms")
        self.is_timed: Bools = np.isin(self.step, typical) | (not len(typical))
        # Within a step, calls of a kind differ by their key, or by their name without one.
        kind = groups_by(self.step, self.op, self.size)
        call = groups_by(kind, self.instance, np.where(self.instance < 0, self.name, 0))
        first = np.full(int(kind.max()) + 1, len(call))
        np.minimum.at(first, kind, call)
        self.place: Ints = call - first[kind] + 1


def _call_of(rows: _Rows, chosen: Ints, num_steps: int) -> CollectiveCall:
    """The call that these rows are of."""
    op, size = rows.ops[rows.op[chosen[0]]], int(rows.size[chosen[0]])
    timed = chosen[rows.is_timed[chosen]]
    sizes, transfer_ms = rows.bytes[timed], rows.transfer_ms[timed]
    both = np.isfinite(sizes) & np.isfinite(transfer_ms)
    seconds = float(transfer_ms[both].sum()) / 1e3
    algbw, busbw = bandwidth(float(sizes[both].sum()), seconds, op, max(size, 0))
    step, replica = rows.step[chosen], rows.replica[chosen]
    num_calls = float(row_weights(step, replica, max(size, 0)).sum())
    instances = rows.instance[chosen]
    sources, bytes_sources, names = (
        {texts[each] for each in np.unique(number[chosen]).tolist()} - {""}
        for number, texts in (
            (rows.source, rows.sources),
            (rows.bytes_source, rows.bytes_sources),
            (rows.name, rows.names),
        )
    )
    return CollectiveCall(
        op=op,
        name=min(names, key=lambda each: (len(each), each), default=""),
        place=int(rows.place[chosen[0]]),
        instances=(int(instances.min()), int(instances.max())) if instances.min() >= 0 else None,
        group_size=size if size >= 0 else None,
        per_step=num_calls / (num_steps or len(np.unique(step))),
        bytes=_mean_of_replicas(rows.bytes, rows.replica, chosen),
        wait_ms=_mean_of_replicas(rows.wait_ms, rows.replica, timed),
        transfer_ms=_mean_of_replicas(rows.transfer_ms, rows.replica, timed),
        algbw_gbps=algbw,
        busbw_gbps=busbw,
        source="/".join(sorted(sources)) or None,
        bytes_source=next(iter(sorted(bytes_sources)), None),
        replicas=tuple(
            ReplicaCall(
                number,
                mean(rows.wait_ms[own]),
                mean(rows.transfer_ms[own]),
            )
            for number in np.unique(replica[replica >= 0]).tolist()
            for own in [timed[rows.replica[timed] == number]]
        ),
    )


def _mean_of_replicas(values: Floats, replica: Ints, chosen: Ints) -> float | None:
    """The mean of the replicas' means, each of which may have other numbers of rows."""
    of_each = [
        mean(values[chosen[replica[chosen] == number]]) for number in np.unique(replica[chosen])
    ]
    known = [value for value in of_each if value is not None]
    return sum(known) / len(known) if known else None
