"""Every tensor that the runtime sent from one device to another, by tensor and pair of devices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategy_lab.profiles.analysis.steps import typical_captured_steps
from strategy_lab.profiles.tables.sql import run_query

if TYPE_CHECKING:
    from strategy_lab.profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class Send:
    """One tensor's way, all its captured sends together."""

    tensor: str
    send_device: str
    recv_device: str
    per_step: float
    bytes: float | None
    """Bytes of one send."""
    duration_ms: float | None
    """Mean from send to receipt, in the typical steps."""
    source: str | None
    bytes_source: str | None


_SENDS = """
    select tensor, send_device, recv_device, count(*) as num, avg(bytes) as bytes,
           avg(duration_ms) filter (step in ({typical})) as duration_ms,
           any_value(source) as source,
           any_value(bytes_source) as bytes_source
    from transfers where segment = {segment}
    group by tensor, send_device, recv_device
    order by num * coalesce(avg(bytes), 0) desc, num desc, tensor, send_device, recv_device
"""
_STEPS = "select count(distinct step) as num from {table} where segment = {segment}"


def sends(profile: Profile, segment: int) -> tuple[Send, ...]:
    """The sends of a segment's captured steps, the largest traffic first."""
    steps = typical_captured_steps(profile, segment).tolist()
    typical = ", ".join(map(str, steps)) or "null"
    query = _SENDS.format(segment=int(segment), typical=typical)
    rows = run_query(profile, query).to_pylist()
    if not rows:
        return ()
    num_steps = max(
        int(run_query(profile, _STEPS.format(table=table, segment=int(segment)))["num"][0].as_py())
        for table in ("replica_steps", "transfers")
    )
    return tuple(
        Send(
            tensor=row["tensor"] or "",
            send_device=row["send_device"] or "",
            recv_device=row["recv_device"] or "",
            per_step=row["num"] / num_steps,
            bytes=row["bytes"],
            duration_ms=row["duration_ms"],
            source=row["source"],
            bytes_source=row["bytes_source"],
        )
        for row in rows
    )
