"""Messages between the slices of a TPU system over the data-center network (Megascale).

Each message that a host receives is an event `MegaScale: ...` on one of its threads, with sender,
receiver, bytes and the collective that it belongs to. The event has the time of arrival and
`duration_us`, the time since it was sent (openxla/xprof `dcn_utils.cc`). Not run on a real profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_imports.device_lines import is_host
from strategy_imports.recording import (
    SLICE_ENDS,
    SLICE_LABEL,
    SLICE_STATS,
    Ints,
    Line,
    Plane,
)

_PREFIX = "MegaScale:"
_BYTES, _DURATION_US = "payload_size_bytes", "duration_us"
LONGEST_US = 10**10
"""A message that took longer is damage: close to three hours."""


@dataclass(frozen=True, slots=True)
class SliceMessages:
    """Messages of a host, parallel columns."""

    collective: list[str]
    """HLO instruction and a number, as `all-reduce.273_312`; empty if it is not told."""
    ends: Ints
    """By message: slice and device of the sender, then those of the receiver."""
    bytes: Ints
    start_ns: Ints
    end_ns: Ints
    num_unusable: int
    """Messages without sender, receiver, size or length, or with an end before their begin."""

    def __len__(self) -> int:
        return len(self.bytes)

    def take(self, chosen: Ints) -> SliceMessages:
        return SliceMessages(
            [self.collective[index] for index in chosen.tolist()],
            self.ends[chosen],
            self.bytes[chosen],
            self.start_ns[chosen],
            self.end_ns[chosen],
            self.num_unusable,
        )

    @property
    def is_across(self) -> np.ndarray:
        """Whether a message leaves its slice; the others stay within, and use no such network."""
        across: np.ndarray = self.ends[:, 0] != self.ends[:, 2]
        return across


def slice_messages(planes: Sequence[Plane]) -> SliceMessages:
    """Return the messages that a host received, in order of their arrival."""
    labels: list[str] = []
    columns = [np.zeros((0, len(SLICE_STATS) + 1), np.int64)]
    for plane in filter(is_host, planes):
        is_message = np.asarray([kind.name.startswith(_PREFIX) for kind in plane.kinds], bool)
        for line in plane.lines if is_message.any() else []:
            at = np.flatnonzero(is_message[line.kind])
            stats = [line.stat(name)[at] for name in SLICE_STATS]
            columns.append(np.stack([*stats, line.start_ns[at]], axis=1))
            labels += _labels(plane, line, at)
    table = np.concatenate(columns)
    sizes = {name: table[:, SLICE_STATS.index(name)] for name in SLICE_STATS}
    ends = np.stack([sizes[name] for name in SLICE_ENDS], axis=1)
    length_us, arrived_ns = sizes[_DURATION_US], table[:, -1]
    is_whole = (ends >= 0).all(axis=1) & (ends < 2**31).all(axis=1) & (sizes[_BYTES] >= 0)
    is_whole &= (length_us > 0) & (length_us < LONGEST_US)
    every = SliceMessages(
        labels,
        ends,
        sizes[_BYTES],
        arrived_ns - np.where(is_whole, length_us, 0) * 1000,
        arrived_ns,
        int(np.count_nonzero(~is_whole)),
    )
    at = np.flatnonzero(is_whole)
    return every.take(at[np.argsort(arrived_ns[at], kind="stable")])


def _labels(plane: Plane, line: Line, at: Ints) -> list[str]:
    return [plane.texts.get(int(text), "") for text in line.stat(SLICE_LABEL)[at]]
