"""Every tensor that the runtime sent from one device to another, by tensor and pair of devices."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.reporting.device_names import counting_order
from strategy_profiles.tables.columns import (
    Floats,
    Ints,
    codes,
    distinct,
    first_of_each,
    floats,
    ints,
    of_segment,
    texts,
)
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
    number = np.zeros(rows.num_rows, np.int64)
    for name in _WAY:
        places, names = codes(rows, name)
        number = number * len(names) + places
    way = distinct(number)[1]
    of_each = rows.take(first_of_each(number))
    is_typical = np.isin(ints(rows, "step"), typical_captured_steps(profile, segment))
    durations_ms = np.where(is_typical, floats(rows, "duration_ms"), np.nan)
    all_sends = map(
        Send,
        *([text or "" for text in texts(of_each, name)] for name in _WAY),
        (np.bincount(way) / num_steps).tolist(),
        _means(way, floats(rows, "bytes")),
        _means(way, durations_ms),
        *(_first_known(way, texts(rows, name)) for name in ("source", "bytes_source")),
    )
    return tuple(sorted(all_sends, key=_by_traffic))


def _means(way: Ints, values: Floats) -> list[float | None]:
    """The mean of the known values of each way, None without any."""
    known, num_ways = np.isfinite(values), int(way.max()) + 1
    counts = np.bincount(way[known], minlength=num_ways).tolist()
    sums = np.bincount(way[known], values[known], num_ways).tolist()
    return [total / count if count else None for total, count in zip(sums, counts, strict=True)]


def _first_known(way: Ints, values: list[str | None]) -> list[str | None]:
    first: dict[int, str] = {}
    for each, value in zip(way.tolist(), values, strict=True):
        if value is not None:
            first.setdefault(each, value)
    return [first.get(each) for each in range(int(way.max()) + 1)]


def _by_traffic(send: Send) -> tuple[object, ...]:
    traffic = send.per_step * (send.bytes or 0)
    way = map(counting_order, (send.tensor, send.send_device, send.recv_device))
    return -traffic, -send.per_step, *way
