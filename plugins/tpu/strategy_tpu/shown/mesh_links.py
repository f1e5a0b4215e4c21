"""Bytes over each link of a TPU's mesh, derived from the sends of captured steps.

A link joins two cores whose places differ by one on one axis. A tensor is routed by dimension
order: along x, then y, z, and the cores of a chip; without wrap-around links. So an axis carries,
over all its links, the sum of size times distance: sum(bytes * |difference on the axis|).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from strategy_profiles.analysis.cores import Cores
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.columns import floats, of_segment, texts

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

AXES = ("x", "y", "z", "core")
_OF_A_REPLICA = "replica_"
"""Tensors of the replicas' program. A batch that comes from the host crosses no link."""
Place = tuple[int, ...]


class MeshLink(Struct, frozen=True):
    """A link between neighbours; `start` is the one with the smaller coordinate."""

    axis: int
    """Index in `AXES`."""
    start: Place
    end: Place
    bytes: float
    """Bytes of a mean captured step, in both directions together; those of known size."""


class MeshLinks(Struct, frozen=True):
    """The links of a mesh; none, with a reason, if nothing is known about them."""

    links: tuple[MeshLink, ...]
    num_unsized: int = 0
    """Sends of unknown size, in all captured steps: links carry at least what is counted."""
    reason: str | None = None

    def of_axis(self, axis: int) -> list[MeshLink]:
        return [link for link in self.links if link.axis == axis]


def mesh_links(profile: Profile, segment: SegmentOpened, measured: Cores) -> MeshLinks:
    """Return each link between cores of the segment, with its bytes; 0 if nothing crossed it."""
    coordinates_of = {core.device: core.coordinates for core in measured.cores if core.coordinates}
    if len(coordinates_of) < len(measured.cores) or not coordinates_of:
        return MeshLinks((), reason="the cores' places on the mesh were not recorded")
    if not measured.num_steps:
        return MeshLinks((), reason="the bytes over links need a captured step")
    rows = of_segment(profile.table("transfers"), segment.segment)
    carried: defaultdict[tuple[Place, Place], float] = defaultdict(float)
    num_unsized = 0
    for tensor, source, target, size in zip(
        texts(rows, "tensor"),
        texts(rows, "send_device"),
        texts(rows, "recv_device"),
        floats(rows, "bytes"),
        strict=True,
    ):
        start, end = coordinates_of.get(source or ""), coordinates_of.get(target or "")
        if start is None or end is None or not (tensor or "").startswith(_OF_A_REPLICA):
            continue
        if math.isnan(size):
            num_unsized += 1
            continue
        for link in route(start, end):
            carried[link] += float(size)
    links = tuple(
        MeshLink(axis, start, end, carried[start, end] / measured.num_steps)
        for axis, start, end in _neighbours(sorted(coordinates_of.values()))
    )
    return MeshLinks(links, num_unsized)


def route(start: Place, end: Place) -> Iterator[tuple[Place, Place]]:
    """Yield the links from one place to another, each with its smaller end first."""
    at = start
    for axis, goal in enumerate(end):
        while at[axis] != goal:
            to = (*at[:axis], at[axis] + (1 if goal > at[axis] else -1), *at[axis + 1 :])
            yield (min(at, to), max(at, to))
            at = to


def _neighbours(places: Sequence[Place]) -> Iterator[tuple[int, Place, Place]]:
    known = set(places)
    for axis in range(len(AXES)):
        for start in places:
            end = (*start[:axis], start[axis] + 1, *start[axis + 1 :])
            if end in known:
                yield axis, start, end
