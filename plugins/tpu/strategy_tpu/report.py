"""The result of an expansion as plain data: placement of ops, transfers, and fallbacks.

The lab joins these records with its measurements by node name (`Collective.nodes`). Bytes are
`None` if a shape is known only at run time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import tensorflow as tf


@dataclass(frozen=True, slots=True)
class Collective:
    """One communication between cores, as one step performs it (in a loop: each iteration)."""

    instance: int
    op: str
    """`all-reduce`, `all-gather`, `all-to-all`, `collective-permute`, `halo-exchange`, ..."""
    name: str
    """Name of the traced op that caused it."""
    devices: tuple[str, ...]
    """The participants; their number is the `group_size` of the tables."""
    bytes: int | None
    """Size of the tensor that each participant contributes."""
    moved_bytes: int | None
    """Bytes sent from one device to another, by all participants together."""
    nodes: tuple[str, ...]
    """Graph nodes that carry it out."""
    in_loop: bool = False

    @property
    def group_size(self) -> int:
        return len(self.devices)


@dataclass(frozen=True, slots=True)
class Transfer:
    """One copy of a tensor from one device to another."""

    tensor: str
    bytes: int | None
    send_device: str
    recv_device: str
    reason: str
    """`collective` (between replicas), `halo-exchange`, `all-reduce`, `scatter`, `all-gather`,
    `reshard`, `gather` or `placement`."""
    in_loop: bool = False


@dataclass(frozen=True, slots=True)
class Fallback:
    """An op with partitioned operands that ran on core 0, where its operands were gathered."""

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
    """Device -> op type -> number of nodes placed there."""
    partitioned: Counter[str] = field(default_factory=Counter)
    """Op type -> number of ops split over the cores of a replica."""
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
        """Bytes that a step moves between cores, by reason; shapes unknown until run time count
        0."""
        total: Counter[str] = Counter()
        for each in self.transfers:
            total[each.reason] += each.bytes or 0
        return dict(total)

    def fallback_table(self) -> list[tuple[str, str, int, int | None]]:
        """(op, reason, count, bytes gathered), sorted by bytes in descending order."""
        table: dict[tuple[str, str], tuple[int, int | None]] = {}
        for each in self.fallbacks:
            count, size = table.get((each.op, each.reason), (0, 0))
            known = None if size is None or each.bytes is None else size + each.bytes
            table[each.op, each.reason] = (count + 1, known)
        rows = [(op, reason, count, size) for (op, reason), (count, size) in table.items()]
        return sorted(rows, key=lambda row: -(row[3] or 0))


def num_bytes(tensor: tf.Tensor) -> int | None:
    """Size of a tensor from its static shape; None if that is not fully known."""
    if not tensor.shape.is_fully_defined() or tensor.dtype in (tf.resource, tf.variant, tf.string):
        return None
    return int(tensor.shape.num_elements()) * int(tensor.dtype.size)


def total_bytes(sizes: list[int | None]) -> int | None:
    """The sum, or None if any size is unknown."""
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None
