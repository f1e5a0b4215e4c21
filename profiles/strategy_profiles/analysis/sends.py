"""Every tensor that the runtime sent from one device to another, by tensor and pair of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.reporting.device_names import counting_order
from strategy_profiles.tables.columns import Ints, ints, of_segment

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile


class Send(Struct, frozen=True):
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


_WAY = ("tensor", "send_device", "recv_device")


def sends(profile: Profile, segment: int) -> tuple[Send, ...]:
    """The sends of a segment's captured steps, the largest traffic first."""
    rows = of_segment(profile.table("transfers"), segment)
    if not rows.num_rows:
        return ()
    captured = (rows, of_segment(profile.table("replica_steps"), segment))
    num_steps = max(len(np.unique(ints(table, "step"))) for table in captured)
    all_sends = [
        Send(
            tensor=row["tensor"] or "",
            send_device=row["send_device"] or "",
            recv_device=row["recv_device"] or "",
            per_step=row["count_all"] / num_steps,
            bytes=row["bytes_mean"],
            duration_ms=row["duration_ms_mean"],
            source=row["source_first"],
            bytes_source=row["bytes_source_first"],
        )
        for row in _by_way(rows, typical_captured_steps(profile, segment))
    ]
    return tuple(sorted(all_sends, key=_by_traffic))


def _by_way(rows: pa.Table, typical: Ints) -> list[dict[str, Any]]:
    """The sums of the rows by tensor and devices; the duration is that of the typical steps."""
    of_typical = pc.is_in(rows["step"], pa.array(typical, rows.schema.field("step").type))
    columns = {name: rows[name].cast(pa.string()) for name in (*_WAY, "source", "bytes_source")}
    columns["bytes"] = rows["bytes"]
    columns["duration_ms"] = pc.if_else(of_typical, rows["duration_ms"], None)
    sums = [([], "count_all"), ("bytes", "mean"), ("duration_ms", "mean")]
    first = [(name, "first") for name in ("source", "bytes_source")]
    # Without threads: `first` needs the order of the rows.
    grouped = pa.table(columns).group_by(_WAY, use_threads=False)
    by_way: list[dict[str, Any]] = grouped.aggregate([*sums, *first]).to_pylist()
    return by_way


def _by_traffic(send: Send) -> tuple[object, ...]:
    traffic = send.per_step * (send.bytes or 0)
    way = map(counting_order, (send.tensor, send.send_device, send.recv_device))
    return -traffic, -send.per_step, *way
