"""The rows of the table `links` out of what each process counted: one per link and direction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_lab.profiles.events import LinkBytes
from strategy_lab.profiles.records import as_event
from strategy_lab.profiles.sources import EventSource, Record

SOCKET = "socket"
"""Payload of TCP connections, as the kernel counts it for each."""
INTERFACE = "interface"
"""Frames with their headers, as the kernel counts them on a process's own interface."""


def link_rows(source: EventSource) -> Iterator[Record]:
    """Rows as plain mappings; what does not fit the table is for the reader to find."""
    for record in source.of_kind(LinkBytes.kind):
        event = as_event(record, LinkBytes)
        if event is None or source.worker is None:
            continue
        counted = {
            "segment": event.segment,
            "step": event.step,
            "worker": source.worker,
            "generation": source.generation,
            "at_ns": record.get("at_ns"),
        }
        for link in event.links:
            told = {"rtt_ms": link.get("rtt_ms"), "opened": link.get("opened"), "source": SOCKET}
            yield from _both_ways(counted | told, link, link.get("peer"))
        if event.interface is not None:
            yield from _both_ways(counted | {"source": INTERFACE}, event.interface, None)


def _both_ways(shared: Record, counts: dict[str, Any], peer: object) -> Iterator[Record]:
    """A sent row and a received one; retransmissions are known of what was sent."""
    yield {
        **shared,
        "from_worker": shared["worker"],
        "to_worker": peer,
        "bytes": counts.get("sent_bytes"),
        "packets": counts.get("sent_packets"),
        "retransmitted_bytes": counts.get("retransmitted_bytes"),
    }
    yield {
        **shared,
        "from_worker": peer,
        "to_worker": shared["worker"],
        "bytes": counts.get("received_bytes"),
        "packets": counts.get("received_packets"),
    }
