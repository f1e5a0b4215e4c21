"""A profile of one host as columns, whatever file it came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Value: TypeAlias = int | float | str

EPOCH_NS = 10**18
"""Larger times (after 2001) are since the epoch, smaller ones since the capture's start."""

MOVED_BYTES, GROUP_SIZE = "moved_bytes", "group_size"
"""Size of a copy, or of a collective as nccl-tests counts it, and the number of ranks in the group
of a collective; only a Chrome trace of PyTorch tells them so."""
INTEGER_STATS = (
    "correlation_id",
    "step_num",
    "instance_key",
    "program_id",
    MOVED_BYTES,
    GROUP_SIZE,
)
"""Stats of events that are read as numbers."""
PRODUCER, CONSUMER = "_p", "_c"
"""Stats of a call on the host and of the execution of a program that it started, with one value.
Both are read only if a device has consumers.
"""
SLICE_ENDS = (
    "dcn_source_slice_id",
    "dcn_source_per_slice_device_id",
    "dcn_destination_slice_id",
    "dcn_destination_per_slice_device_id",
)
SLICE_STATS = (*SLICE_ENDS, "payload_size_bytes", "duration_us")
SLICE_LABEL = "dcn_label"
"""Stats of a message between slices. They are read only if a plane has such messages."""
OLD_OP = "level 0"
"""The program's op of a GPU's event, in profiles of TensorFlow 2.2 to 2.4; since then `tf_op`."""
CATEGORY = "category"
"""Stat of a kind of events that PyTorch recorded: in their names, a colon does not part a node from
its op."""
BOOKKEEPING = "bookkeeping of thread pools, and frames of Python's tracer"
TEXT_STATS = ("tf_op", "name", "hlo_op", OLD_OP, "memcpy_details")
"""Stats of events that are read as indices into `Recording.texts`."""


@dataclass(frozen=True, slots=True)
class EventKind:
    """What the events of one metadata id share."""

    name: str
    display_name: str = ""
    stats: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HloOp:
    """An instruction of a program that XLA compiled."""

    name: str = ""
    opcode: str = ""
    op_name: str = ""
    """The op of the framework that it comes from; empty if the program does not say."""
    source_line: str = ""
    """`file.py:12`, where the framework's op was made."""
    bytes: int = -1
    """Size of what it returns; -1 if unknown."""
    collective_bytes: int = -1
    """Size of a collective as nccl-tests counts it; -1 if it is not a collective, or unknown."""


@dataclass(frozen=True, slots=True)
class Line:
    """The events of a thread, a stream or another line of a plane, in the order of the file."""

    name: str
    thread: int
    kind: Ints
    """Index into the plane's `kinds`."""
    start_ns: Ints
    """Since 1970, or since the capture's start if the file does not say when that was."""
    end_ns: Ints
    stats: Mapping[str, Ints]
    """The stats of `INTEGER_STATS` and `TEXT_STATS` that the line has; -1 if an event has none."""

    def __len__(self) -> int:
        return len(self.start_ns)

    def stat(self, name: str) -> Ints:
        """Return a stat of every event, -1 where it is missing."""
        stat = self.stats.get(name)
        return np.full(len(self), -1, np.int64) if stat is None else stat


@dataclass(frozen=True, slots=True)
class Plane:
    """A device or a host."""

    name: str
    kinds: list[EventKind]
    lines: list[Line]
    stats: Mapping[str, Value] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)
    """Texts by the values of `TEXT_STATS`."""


@dataclass(slots=True)
class Recording:
    """Everything that one file has."""

    host: str
    """The name by which it is shown."""
    planes: list[Plane] = field(default_factory=list)
    start_ns: int = 0
    """When the capture began, ns since 1970; 0 if the file does not say."""
    num_events: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """How many events were counted but not kept, by what they are."""
    not_recognised: Counter[str] = field(default_factory=Counter)
    """How many events this import does not know, by what they are: `category x`."""
    categories: Counter[str] = field(default_factory=Counter)
    """How many events of the host each category has; empty if the file has no categories."""
    programs: dict[int, dict[str, HloOp]] = field(default_factory=dict)
    """The instructions of the programs that devices ran, by the id of the program and by name."""
    problems: list[str] = field(default_factory=list)
    """What could not be read, a sentence each."""
    own_host: str = ""
    """The host's name in the file itself, often with a port; empty if it has none."""
    rank: int | None = None
    """Which of the program's ranks the file has, and how many the program has; None if the file
    does not say."""
    num_ranks: int | None = None
    group_sizes: frozenset[int] = frozenset()
    """Sizes of the groups of ranks that the program has made."""
    models: dict[int, str] = field(default_factory=dict)
    """The model of each device, by its number."""
