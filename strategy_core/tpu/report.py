"""The result of an expansion as plain data: op placement, transfers, ops without partitioning.

The lab joins these records with its measurements on the node names (`Collective.nodes`).
Bytes are `None` where a shape is only known when the step runs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import tensorflow as tf


@dataclass(frozen=True, slots=True)
class Collective:
    """One communication among cores, as one step performs it (each time round, in a loop)."""

    instance: int
    op: str
    """`all-reduce`, `all-gather`, `all-to-all`, `collective-permute`, `halo-exchange`, ..."""
    name: str
    """Name of the traced op that asked for it."""
    devices: tuple[str, ...]
    """The participants; `group_size` of the tables is how many they are."""
    bytes: int | None
    """Size of the tensor that each participant contributes."""
    moved_bytes: int | None
    """What crosses from one device to another, all participants together."""
    nodes: tuple[str, ...]
    """Graph nodes that carry it out."""
    in_loop: bool = False

    @property
    def group_size(self) -> int:
        return len(self.devices)


@dataclass(frozen=True, slots=True)
class Transfer:
    """One copy of a tensor from a device to another."""

    tensor: str
    bytes: int | None
    send_device: str
    recv_device: str
    reason: str
    """`collective` (among replicas), `halo-exchange`, `all-reduce`, `scatter`, `all-gather`,
    `reshard`, `gather` or `placement`."""
    in_loop: bool = False


@dataclass(frozen=True, slots=True)
class Fallback:
    """An op with partitioned operands that ran on core 0, its operands gathered there."""

    op: str
    name: str
    replica: int
    reason: str
    bytes: int | None
    """Size of the operands that had to be gathered."""


@dataclass(slots=True)
class ExpansionReport:
    """How one traced function was spread over replicas and logical cores."""

    cores: tuple[tuple[str, ...], ...]
    """Device of each core, by replica and logical core."""
    ops_by_device: dict[str, Counter[str]] = field(default_factory=dict)
    """Device -> op type -> how many nodes were placed there."""
    partitioned: Counter[str] = field(default_factory=Counter)
    """Op type -> how many ops were split over the cores of a replica."""
    fallbacks: list[Fallback] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)

    @property
    def num_replicas(self) -> int:
        return len(self.cores)

    @property
    def num_cores_per_replica(self) -> int:
        return len(self.cores[0])

    def moved_bytes(self) -> dict[str, int]:
        """Bytes that a step moves between cores, by reason; shapes unknown until run count 0."""
        total: Counter[str] = Counter()
        for each in self.transfers:
            total[each.reason] += each.bytes or 0
        return dict(total)

    def fallback_table(self) -> list[tuple[str, str, int, int | None]]:
        """(op, reason, how many, bytes gathered), the most bytes first."""
        table: dict[tuple[str, str], tuple[int, int | None]] = {}
        for each in self.fallbacks:
            count, size = table.get((each.op, each.reason), (0, 0))
            known = None if size is None or each.bytes is None else size + each.bytes
            table[each.op, each.reason] = (count + 1, known)
        rows = [(op, reason, count, size) for (op, reason), (count, size) in table.items()]
        return sorted(rows, key=lambda row: -(row[3] or 0))


def num_bytes(tensor: tf.Tensor) -> int | None:
    """Size of a tensor from its static shape, None where it is not fully known."""
    if not tensor.shape.is_fully_defined() or tensor.dtype in (tf.resource, tf.variant, tf.string):
        return None
    return int(tensor.shape.num_elements()) * int(tensor.dtype.size)


def total_bytes(sizes: list[int | None]) -> int | None:
    """Sum, None as soon as one is unknown."""
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
