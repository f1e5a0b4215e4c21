"""What the all-reduces of a TPU program would take on meshes of chips, on paper.

A run on emulated TPU cores records which all-reduces a step has, and their bytes. Its computation
ran on CPU cores and says nothing of a TPU, so no step is predicted.

    t = 2(n-1)/n * S / (links used * bandwidth of a link) + latency * 2 * sum(length of axis - 1)

n are the chips that hold the same part of the gradients; cores of one chip add up first, which is
not counted. S are the bytes of a chip. Of a mesh, the corner chip has the fewest links: one per
axis without wrap-around links, two with them. The least time counts wrap-around links on axes of
four chips and more, and bytes spread over the chips of a replica; the longest counts no wrap-around
links, and all bytes on one chip of each replica.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategy_profiles.analysis.cores import cores
from strategy_profiles.reporting import units
from strategy_profiles.run.events import CoresExpanded, SegmentOpened
from strategy_replay.scaling.errors import PredictionError
from strategy_replay.scaling.link import Link
from strategy_replay.scaling.recorded_steps import segment_of

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

LABEL = "On paper: bytes over links. This was not run on a TPU."
NO_STEP = (
    "The computation of emulated cores runs on CPU cores, so a TPU's step does not follow from it"
)
_ALL_REDUCE = "all-reduce"
_WRAPPED_FROM = 4
"""Chips of an axis from which on TPU slices have wrap-around links."""


@dataclass(frozen=True, slots=True)
class MeshTime:
    """The all-reduces of a step on a number of replicas."""

    num_replicas: int
    num_chips: int
    mesh: tuple[int, ...]
    """Chips along each axis."""
    low_ms: float
    high_ms: float

    @property
    def between(self) -> str:
        """`0.12 to 0.24 ms`; a dash if one chip holds all replicas."""
        if not self.high_ms:
            return units.MISSING
        if self.low_ms == self.high_ms:
            return units.milliseconds(self.high_ms)
        return f"{units.number(self.low_ms)} to {units.milliseconds(self.high_ms)}"


@dataclass(frozen=True, slots=True)
class MeshPrediction:
    """The answer for a run on emulated cores."""

    run: str
    link: str
    num_all_reduces: int
    """Of a step, over all replicas' cores of one number."""
    gradient_bytes: int
    """What these reduce, of one replica."""
    cores_per_replica: int
    cores_per_chip: int
    times: tuple[MeshTime, ...]
    notes: tuple[str, ...]


def is_emulated(segment: SegmentOpened) -> bool:
    """Whether a segment's TPU cores are emulated on CPU devices."""
    devices = segment.core_devices
    return bool(devices) and all("CPU" in device for replica in devices or () for device in replica)


def predict_mesh(
    profile: Profile, segment: int, num_replicas: Sequence[int], link: Link | None
) -> MeshPrediction:
    """Return the time of the all-reduces over a link; raises PredictionError with the reason."""
    opened = segment_of(profile, segment)
    if link is None:
        raise PredictionError(
            f"{profile.name} ran on emulated TPU cores. {NO_STEP}",
            advice="Name a TPU's link for the time of the all-reduces on paper (--link tpu-v4-ici)",
        )
    expansion = cores(profile, opened).expansion
    if expansion is None:
        raise PredictionError(f"{profile.name} did not record the communications of its cores")
    count, num_bytes, notes = _all_reduces(profile, opened, expansion)
    if link.latency_us is None:
        notes = (*notes, "The latency of a message is not known, and counts as 0")
    per_replica, per_chip = len(expansion.coordinates[0]), expansion.topology[3]
    times = tuple(
        _time(replicas, num_bytes, per_replica, per_chip, link)
        for replicas in sorted({*num_replicas})
    )
    return MeshPrediction(
        profile.name, link.name, count, num_bytes, per_replica, per_chip, times, notes
    )


def sentence(predicted: MeshPrediction) -> str:
    """What is counted, and what is not."""
    cores_each = units.counted(predicted.cores_per_replica, "core")
    notes = "".join(f" {note}." for note in predicted.notes)
    return (
        f"{predicted.run}: {units.counted(predicted.num_all_reduces, 'all-reduce')} a step between "
        f"replicas, {units.size(predicted.gradient_bytes)} of a replica of {cores_each}, "
        f"{predicted.cores_per_chip} to a chip, over {predicted.link}. {NO_STEP}.{notes}"
    )


def _all_reduces(
    profile: Profile, opened: SegmentOpened, expansion: CoresExpanded
) -> tuple[int, int, tuple[str, ...]]:
    """Return the all-reduces between replicas in a step, and their bytes."""
    reduces = [
        each
        for each in expansion.collectives
        if each.op == _ALL_REDUCE and each.group_size == opened.num_replicas
    ]
    if opened.num_replicas < 2 or not reduces:
        raise PredictionError(
            f"{profile.name} recorded no all-reduce between replicas, so its bytes are not known",
            advice="Record two replicas or more (--devices cpu:2 or more)",
        )
    unsized = sum(each.count for each in reduces if each.bytes is None)
    notes = (f"{unsized} all-reduces of unknown size are not counted",) if unsized else ()
    total = sum(each.count * (each.bytes or 0) for each in reduces)
    return sum(each.count for each in reduces), total, notes


def _time(
    num_replicas: int, num_bytes: int, cores_per_replica: int, cores_per_chip: int, link: Link
) -> MeshTime:
    """The time of the module's formula, whose n are the `groups`: each of the replicas of one chip,
    or of one replica's chips. A replica reduces `num_bytes`."""
    chips_per_replica = math.ceil(cores_per_replica / cores_per_chip)
    replicas_per_chip = max(1, cores_per_chip // cores_per_replica)
    groups = math.ceil(num_replicas / replicas_per_chip)
    num_chips = groups * chips_per_replica
    mesh = mesh_of(num_chips, max(1, link.num_links // 2))
    if groups < 2:
        return MeshTime(num_replicas, num_chips, mesh, 0.0, 0.0)
    moved = 2 * (groups - 1) / groups * num_bytes
    # GB/s are 10^6 bytes per ms.
    bytes_per_ms = link.bandwidth_gbps * 1e6 / link.num_links
    axes = [length for length in mesh if length > 1]
    wrapped = sum(2 if length >= _WRAPPED_FROM else 1 for length in axes)
    latency_ms = (link.latency_us or 0.0) / 1e3 * 2 * sum(length - 1 for length in axes)
    return MeshTime(
        num_replicas,
        num_chips,
        mesh,
        moved / chips_per_replica / (wrapped * bytes_per_ms) + latency_ms,
        moved / (len(axes) * bytes_per_ms) + latency_ms,
    )


def mesh_of(num_chips: int, num_axes: int) -> tuple[int, ...]:
    """Return the mesh of so many chips whose axes differ least: `(2, 2, 4)` for 16."""
    mesh = [1] * num_axes
    for factor in _prime_factors(num_chips):
        mesh[mesh.index(min(mesh))] *= factor
    return tuple(sorted(mesh))


def _prime_factors(number: int) -> list[int]:
    """Return the prime factors, the largest first."""
    factors, factor = [], 2
    while number > 1:
        while number % factor == 0:
            factors.append(factor)
            number //= factor
        factor += 1
    return factors[::-1]
