"""From which device to which do most bytes of a step go?"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from strategy_profiles.analysis.communication import Traffic


class BusiestLink(Struct, frozen=True):
    """The first of the links with most bytes per step."""

    send_device: str
    recv_device: str
    bytes: float
    num_equal: int
    """Other links with as many bytes."""


def busiest_link(traffic: Sequence[Traffic], source: str) -> BusiestLink | None:
    """Return that of the traffic from one source; None if no size is known.

    Bytes of different sources are never compared: those of a ring are derived from collectives.
    """
    known = [item for item in traffic if item.source == source and item.bytes]
    if not known:
        return None
    most = max(known, key=lambda item: item.bytes or 0)
    num_equal = sum(item.bytes == most.bytes for item in known) - 1
    return BusiestLink(most.send_device, most.recv_device, most.bytes or 0, num_equal)


def heaviest_source(traffic: Sequence[Traffic]) -> str | None:
    """Return the source with most bytes in all; None without traffic."""
    total: dict[str, float] = {}
    for item in traffic:
        total[item.source] = total.get(item.source, 0) + (item.bytes or 0)
    return max(total, key=total.__getitem__, default=None)
