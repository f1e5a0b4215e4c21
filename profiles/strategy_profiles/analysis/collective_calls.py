"""Every collective op of a segment by itself: how often, how large, how fast, who waited in it.

The same figures as in `communication`, there by kind, here by the op in the graph and its replicas:
calls and bytes of all captured steps, times of the typical ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from strategy_profiles.analysis.communication import row_weights
from strategy_profiles.analysis.steps import typical_steps
from strategy_profiles.capture.bandwidth import bandwidth
from strategy_profiles.tables.columns import floats, ints, of_segment
from strategy_profiles.tables.sql import open_sandbox, reader_of

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class ReplicaCall:
    """One replica's part in an op: mean milliseconds of a call."""

    replica: int
    wait_ms: float | None
    transfer_ms: float | None


@dataclass(frozen=True, slots=True)
class CollectiveCall:
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


_CALLS = """
    with placed as (
        select *, dense_rank() over (
            partition by step, op, group_size
            order by instance, case when instance < 0 then name end) as place
        from collectives)
    select op, place, group_size, replica, any_value(name) as name,
           min(instance) as first_instance, max(instance) as last_instance,
           list(coalesce(step, -1)) as steps, avg(bytes) as bytes,
           avg(wait_ms) filter (is_timed) as wait_ms,
           avg(transfer_ms) filter (is_timed) as transfer_ms,
           list(distinct source) filter (source is not null) as sources,
           any_value(bytes_source) as bytes_source,
           sum(bytes::double) filter (is_timed and transfer_ms is not null) as moved_bytes,
           sum(transfer_ms) filter (is_timed and bytes is not null) as moving_ms
    from placed group by op, place, group_size, replica order by op, group_size, place, replica
"""


def collective_calls(profile: Profile, segment: int) -> tuple[CollectiveCall, ...]:
    """The collectives of a segment's captured steps, the largest traffic first."""
    captured = of_segment(profile.table("replica_steps"), segment)
    step = ints(captured, "step")
    typical = typical_steps(step, floats(captured, "wall_ms"))
    table = of_segment(profile.table("collectives"), segment)
    is_timed = np.isin(ints(table, "step"), typical) if len(typical) else np.full(len(table), True)
    table = table.append_column("is_timed", pa.array(is_timed))
    with open_sandbox(_CALLS, {"collectives": table}) as connection:
        rows = reader_of(connection, _CALLS).read_all().to_pylist()
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["op"], row["group_size"], row["place"]), []).append(row)
    calls = [_one(members, len(np.unique(step))) for members in groups.values()]
    return tuple(sorted(calls, key=lambda call: -(call.bytes or 0) * call.per_step))


def _one(rows: list[dict[str, Any]], num_steps: int) -> CollectiveCall:
    first = rows[0]
    op, size = first["op"] or "unknown", first["group_size"]
    moving_ms = sum(row["moving_ms"] or 0.0 for row in rows)
    moved = sum(row["moved_bytes"] or 0.0 for row in rows)
    algbw, busbw = bandwidth(moved, moving_ms / 1e3, op, size or 0)
    step = np.concatenate([row["steps"] for row in rows])
    replica = np.repeat(np.arange(len(rows)), [len(row["steps"]) for row in rows])
    num_calls = float(row_weights(step, replica, size or 0).sum())
    return CollectiveCall(
        op=op,
        name=first["name"] or "",
        place=first["place"],
        instances=_instances(rows),
        group_size=size,
        per_step=num_calls / (num_steps or len(np.unique(step))),
        bytes=_mean([row["bytes"] for row in rows]),
        wait_ms=_mean([row["wait_ms"] for row in rows]),
        transfer_ms=_mean([row["transfer_ms"] for row in rows]),
        algbw_gbps=algbw,
        busbw_gbps=busbw,
        source="/".join(sorted({each for row in rows for each in row["sources"] or ()})) or None,
        bytes_source=first["bytes_source"],
        replicas=tuple(
            ReplicaCall(row["replica"], row["wait_ms"], row["transfer_ms"])
            for row in rows
            if row["replica"] is not None
        ),
    )


def _instances(rows: list[dict[str, Any]]) -> tuple[int, int] | None:
    first = [row["first_instance"] for row in rows if row["first_instance"] is not None]
    last = [row["last_instance"] for row in rows if row["last_instance"] is not None]
    return (min(first), max(last)) if first and min(first) >= 0 else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
