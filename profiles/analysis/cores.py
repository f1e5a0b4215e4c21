"""The cores of a TPU program: where each sits, how busy it was, what it moved, what fell back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from profiles.analysis.columns import floats, ints, of_segment, texts
from profiles.capture.intervals import Intervals
from profiles.events import CoresExpanded, SegmentOpened
from profiles.records import as_event

if TYPE_CHECKING:
    from profiles.store import Profile

BUSY = ("compute",)
"""Categories of spans in which a core works."""


@dataclass(frozen=True, slots=True)
class Core:
    """One emulated or real core. Times are means over the captured steps, in ms."""

    replica: int
    core: int
    device: str
    coordinates: tuple[int, ...] | None
    num_ops: int | None
    compute_ms: float | None
    """Union of its compute spans; None without a captured step."""
    sent_bytes: float | None
    """In a mean step; None where a size is known only when the step runs."""
    received_bytes: float | None


@dataclass(frozen=True, slots=True)
class Cores:
    """The answer for a segment; `reason` says why there is none."""

    cores: tuple[Core, ...]
    expansion: CoresExpanded | None
    num_steps: int
    reason: str | None = None

    @property
    def fallbacks(self) -> list[dict[str, Any]]:
        return self.expansion.fallbacks if self.expansion else []


def cores(profile: Profile, segment: SegmentOpened) -> Cores:
    """Every core of a segment; empty, with a reason, where the strategy has none."""
    if not segment.core_devices:
        return Cores((), None, 0, f"{segment.strategy} has replicas, but no TPU cores")
    expansion = _expansion(profile, segment.segment)
    spans = of_segment(profile.table("spans"), segment.segment)
    num_steps = len(set(ints(spans, "step").tolist()) - {-1})
    busy = _busy_ms(spans, num_steps)
    sent, received = _traffic(profile, segment.segment)
    found = [
        Core(
            replica=replica,
            core=core,
            device=device,
            coordinates=tuple(expansion.coordinates[replica][core]) if expansion else None,
            num_ops=expansion.num_ops.get(device, 0) if expansion else None,
            compute_ms=busy.get(device, 0.0) if num_steps else None,
            sent_bytes=_per_step(sent, device, num_steps),
            received_bytes=_per_step(received, device, num_steps),
        )
        for replica, devices in enumerate(segment.core_devices)
        for core, device in enumerate(devices)
    ]
    return Cores(tuple(found), expansion, num_steps)


def _expansion(profile: Profile, segment: int) -> CoresExpanded | None:
    for record in profile.records(CoresExpanded.kind):
        if record.get("segment") == segment:
            return as_event(record, CoresExpanded)
    return None


def _busy_ms(spans: Any, num_steps: int) -> dict[str, float]:
    """Milliseconds of a mean step in which each device computed: unions, never sums."""
    categories = np.array(texts(spans, "category"), dtype=object)
    devices = np.array(texts(spans, "device"), dtype=object)
    starts, lengths = ints(spans, "start_ns"), ints(spans, "duration_ns")
    works = np.isin(categories, BUSY)
    total: dict[str, float] = {}
    for device in {name for name in devices[works] if name}:
        own = works & (devices == device)
        union = Intervals.union((starts[own], starts[own] + lengths[own]))
        total[str(device)] = float((union.ends - union.starts).sum()) / 1e6 / max(num_steps, 1)
    return total


def _traffic(profile: Profile, segment: int) -> tuple[dict[str, float], dict[str, float]]:
    """Bytes sent and received by device in all captured steps; NaN with a size that is unknown."""
    rows = of_segment(profile.table("transfers"), segment)
    sizes = floats(rows, "bytes")
    sent: dict[str, float] = {}
    received: dict[str, float] = {}
    ends = zip(texts(rows, "send_device"), texts(rows, "recv_device"), sizes, strict=True)
    for sender, receiver, size in ends:
        sent[sender or ""] = sent.get(sender or "", 0.0) + float(size)
        received[receiver or ""] = received.get(receiver or "", 0.0) + float(size)
    return sent, received


def _per_step(total: dict[str, float], device: str, num_steps: int) -> float | None:
    """A device's share of a mean step; None without a captured step, or with an unknown size."""
    size = total.get(device, 0.0)
    return size / num_steps if num_steps and not math.isnan(size) else None
