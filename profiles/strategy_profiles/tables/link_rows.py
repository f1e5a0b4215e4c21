"""The rows of the table `links`: the byte counts of each process, per link and direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.event_parts import InterfaceCounts, LinkCounts
from strategy_profiles.run.events import LinkBytes

SOCKET = "socket"
"""The kernel's payload count of each TCP connection."""
INTERFACE = "interface"
"""The kernel's count of frames, headers included, on the process's own network interface."""

Row = dict[str, Any]


def link_rows(source: EventSource) -> Iterator[Row]:
    """Yield rows of the table as mappings."""
    if source.worker is None:
        return
    for event in source.of_kind(LinkBytes):
        counted: Row = {
            "segment": event.segment,
            "step": event.step,
            "worker": source.worker,
            "generation": source.generation,
            "at_ns": event.at_ns,
        }
        for link in event.links:
            measured = {"rtt_ms": link.rtt_ms, "opened": link.opened, "source": SOCKET}
            sent, received = _both_ways(counted | measured, link, link.peer)
            yield sent | {"retransmitted_bytes": link.retransmitted_bytes}
            yield received
        if event.interface is not None:
            yield from _both_ways(counted | {"source": INTERFACE}, event.interface, None)


def _both_ways(
    shared: Row, counts: LinkCounts | InterfaceCounts, peer: int | None
) -> tuple[Row, Row]:
    """Return a row for sent and one for received bytes. `peer` is None for a whole interface."""
    sent = {
        **shared,
        "from_worker": shared["worker"],
        "to_worker": peer,
        "bytes": counts.sent_bytes,
        "packets": counts.sent_packets,
    }
    received = {
        **shared,
        "from_worker": peer,
        "to_worker": shared["worker"],
        "bytes": counts.received_bytes,
        "packets": counts.received_packets,
    }
    return sent, received
