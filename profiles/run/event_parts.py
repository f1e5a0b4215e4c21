"""What events hold besides plain values: each a JSON object with fields of its own."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from strategy_lab.profiles.spec.field_types import (
    Bytes,
    Count,
    Ms,
    Name,
    Small,
    Text,
    Worker,
)
from strategy_lab.profiles.spec.limits import MOST_ITEMS

Crc32 = Annotated[int, Meta(ge=0, lt=2**32)]
"""Of a whole file."""


class Device(Struct, frozen=True):
    """A logical device, and the physical one that it is a share of, if there is no doubt."""

    name: Name
    """`/job:...`"""
    kind: Name
    physical: Name | None = None
    logical: bool = True


class Host(Struct, frozen=True):
    """A machine."""

    name: Name | None = None
    boot: Name | None = None
    """Names the running kernel: processes with the same one read the same clock."""
    cpus: Small | None = None
    """CPUs that the process may use."""
    memory_bytes: Bytes | None = None
    platform: Name | None = None


class LinkCounts(Struct, frozen=True):
    """The connections between a process and one peer together, by who opened them."""

    sent_bytes: Bytes
    received_bytes: Bytes
    peer: Worker | None = None
    """Null if it is not known."""
    opened: bool | None = None
    """By the process that counted."""
    sent_packets: Count | None = None
    received_packets: Count | None = None
    retransmitted_bytes: Bytes | None = None
    rtt_ms: Ms | None = None


class InterfaceCounts(Struct, frozen=True):
    """A process's own network interface: frames with their headers."""

    name: Name
    sent_bytes: Bytes
    received_bytes: Bytes
    sent_packets: Count | None = None
    received_packets: Count | None = None


class TableFile(Struct, frozen=True):
    """A table of a capture window as it was written."""

    num_rows: Count
    crc32: Crc32
    """Of the whole file."""


class Fallback(Struct, frozen=True):
    """Ops of one type that were gathered to core 0."""

    op: Name
    reason: Text
    names: Annotated[list[Name], Meta(max_length=MOST_ITEMS)]
    count: Count
    bytes: Bytes | None = None


class CoreTraffic(Struct, frozen=True):
    """Communications of one kind and size in a step of a TPU program."""

    op: Name
    group_size: Small
    count: Count
    bytes: Bytes | None = None
    moved_bytes: Bytes | None = None


class TpuFinding(Struct, frozen=True):
    """What a real TPU would do with the ops of one type on one line of the program."""

    outcome: Literal["refused", "on_host", "slow"]
    """No compilation; moved to the TPU's host by soft placement; compiled, at a cost."""
    op: Name
    name: Name
    """Graph node of the first of them."""
    reason: Text
    advice: Text
    count: Count = 1
    file: Name | None = None
    """The program's file; null if no line of the program made the op."""
    line: Count | None = None
    code: Text | None = None
    """Text of that line."""

    @property
    def where(self) -> str:
        """`model.py:12`, or the name of the graph's node."""
        return f"{self.file}:{self.line}" if self.file else self.name


class Server(Struct, frozen=True):
    """A parameter server."""

    process: Worker
    device: Name


class ServedVariable(Struct, frozen=True):
    """A variable on a parameter server, or a part of one; a size is null if only the step knows it.

    Pulls and pushes are those of one step of one worker.
    """

    name: Name
    role: Literal["weight", "state", "optimizer"]
    bytes: Bytes
    server: Small | None = None
    """Index among the event's servers; null if it is on none."""
    shape: Annotated[list[Count | None], Meta(max_length=254)] = []
    part: Small | None = None
    num_parts: Small | None = None
    pull_bytes: Bytes | None = None
    push_bytes: Bytes | None = None
