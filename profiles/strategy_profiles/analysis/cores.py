"""The cores of a TPU program: place in the mesh, phases, bytes moved, and ops not partitioned."""

from __future__ import annotations

import math

import pyarrow as pa
from msgspec import Struct

from strategy_profiles.analysis.breakdown import (
    ReplicaBreakdown,
    captured_breakdown,
    without_warm_up,
)
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.event_parts import Fallback
from strategy_profiles.run.events import CoresExpanded, SegmentOpened
from strategy_profiles.run.topology import host_process, is_pod
from strategy_profiles.tables.columns import floats, ints, is_one_of, of_segment, texts
from strategy_profiles.tables.store import Profile

NO_CORE_STEP = "no step of this core was captured"


class Core(Struct, frozen=True):
    """One emulated or real core."""

    replica: int
    core: int
    device: str
    worker: int
    """The process that it is in: one of a pod's hosts."""
    coordinates: tuple[int, ...] | None
    num_ops: int | None
    split: ReplicaBreakdown | None
    """Measured phases of the core's typical step; None if none of its ops was captured."""
    sent_bytes: float | None
    """Bytes in a mean captured step; None if a size is known only when the step runs."""
    received_bytes: float | None

    def phase_ms(self, category: str) -> float | None:
        """Milliseconds of a phase (`schema.CATEGORIES`) or of `wall` in a typical step."""
        return self.split.phase_ms(category) if self.split else None


class Cores(Struct, frozen=True):
    """The cores of a segment; `reason` says why they are unknown."""

    cores: tuple[Core, ...]
    expansion: CoresExpanded | None
    num_steps: int
    """Captured steps."""
    sent_between_bytes: float | None = None
    """Bytes that the cores send each other in a mean captured step. None without one, with a size
    that is known only when the step runs, and for a pod, whose hosts exchange by collectives."""
    reason: str | None = None
    """Why there are no cores."""

    @property
    def fallbacks(self) -> list[Fallback]:
        return self.expansion.fallbacks if self.expansion else []


def cores(profile: Profile, segment: SegmentOpened) -> Cores:
    """Every core of a segment; empty, with a reason, where the strategy has none."""
    if not segment.core_devices:
        reason = f"{segment.strategy} has replicas, but no TPU cores"
        return Cores((), None, 0, reason=profile.unknown.get("cores", reason))
    expansion = _expansion(profile, segment.segment)
    rows = of_segment(profile.table("core_steps"), segment.segment)
    num_steps = len(set(ints(rows, "step").tolist()))
    splits = _splits(without_warm_up(rows, segment, step_times(profile, segment.segment)))
    sent, received = _traffic(profile, segment.segment)
    all_cores = [
        Core(
            replica=replica,
            core=core,
            device=device,
            worker=host_process(device) or 0,
            coordinates=expansion.coordinates_of(replica, core) if expansion else None,
            num_ops=expansion.num_ops.get(device, 0) if expansion else None,
            split=splits.get((replica, core)),
            sent_bytes=_per_step(sent, device, num_steps),
            received_bytes=_per_step(received, device, num_steps),
        )
        for replica, devices in enumerate(segment.core_devices)
        for core, device in enumerate(devices)
    ]
    between = None if is_pod(segment) else _sent_between(profile, segment, num_steps)
    return Cores(tuple(all_cores), expansion, num_steps, between)


def _expansion(profile: Profile, segment: int) -> CoresExpanded | None:
    events = (event for event in profile.events(CoresExpanded) if event.segment == segment)
    return next(events, None)


def _splits(rows: pa.Table) -> dict[tuple[int, int], ReplicaBreakdown]:
    """The typical step of each core, by replica and core."""
    splits = {}
    numbers = ints(rows, "core")
    for core in set(numbers.tolist()):
        for split in captured_breakdown(rows.filter(pa.array(numbers == core))):
            splits[split.replica, core] = split
    return splits


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


def _sent_between(profile: Profile, segment: SegmentOpened, num_steps: int) -> float | None:
    rows = of_segment(profile.table("transfers"), segment.segment)
    devices = [device for replica in segment.core_devices or () for device in replica]
    is_between = is_one_of(rows, "send_device", devices) & is_one_of(rows, "recv_device", devices)
    total = float(floats(rows, "bytes")[is_between].sum())
    return total / num_steps if num_steps and not math.isnan(total) else None


def _per_step(total: dict[str, float], device: str, num_steps: int) -> float | None:
    """A device's share of a mean step; None without a captured step, or with an unknown size."""
    size = total.get(device, 0.0)
    return size / num_steps if num_steps and not math.isnan(size) else None
