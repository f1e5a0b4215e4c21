"""How many bytes did each process send each other, and what did the wire add?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from strategy_profiles.analysis.derived_links import (
    FROM_COLLECTIVES,
    FROM_PARAMETERS,
    FROM_SERVED,
)
from strategy_profiles.analysis.links import HEADER_BYTES, Link, Links, links
from strategy_profiles.answers.answer import (
    Alternatives,
    Column,
    Matrix,
    Missing,
    Part,
    Table,
    table,
)
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS

if TYPE_CHECKING:
    from strategy_profiles.run.events import SegmentOpened
    from strategy_profiles.tables.store import Profile

TITLE = "Between processes"
LIGHT = 1 / 1000
"""Links with a smaller share of the heaviest one's bytes are counted, not listed: they carry a
step's requests and acknowledgements."""
_DERIVED_FROM = {
    FROM_COLLECTIVES: "the captured collectives, each as a ring: f * S sent to the next process",
    FROM_PARAMETERS: (
        "the parameters, as one ring all-reduce of their gradients: f * S sent to the next process"
    ),
    FROM_SERVED: (
        "the variables on the servers: each is pulled and its gradient pushed in every step"
    ),
}


def links_part(profile: Profile, segment: SegmentOpened) -> tuple[Part, ...]:
    """Return what is said of a segment's links; nothing if it ran in one process."""
    found = links(profile, segment)
    if len(found.names) < 2:
        return ()
    if not found.links:
        return (Missing("links", TITLE, found.reason or "not recorded"),)
    return Alternatives("links_matrix", TITLE, tuple(_matrices(found))), *_tables(found)


def _matrices(found: Links) -> Iterator[Matrix]:
    steps = units.counted(round(found.num_steps), "step")
    measured = (
        "Bytes per step. Measured: payload of the TCP connections, counted by the kernel, over "
        f"{steps}. The diagonal is a process's connection to itself."
    )
    mean = ", averaged over the steps of all workers" if found.derived_from == FROM_SERVED else ""
    source = _DERIVED_FROM.get(found.derived_from or "", "unknown sizes")
    sent = {(link.from_worker, link.to_worker): link for link in found.links}
    if any(link.bytes is not None for link in found.links):
        by_pair = {pair: link.bytes for pair, link in sent.items()}
        yield _matrix(found, "Measured on sockets", by_pair, measured)
    if any(link.derived_bytes is not None for link in found.links):
        by_pair = {pair: link.derived_bytes for pair, link in sent.items()}
        yield _matrix(found, "Derived", by_pair, f"Bytes per step{mean}. Derived from {source}.")


def _matrix(
    found: Links, title: str, by_pair: Mapping[tuple[int, int], float | None], note: str
) -> Matrix:
    return Matrix(
        title,
        title,
        tuple(found.names.values()),
        tuple(tuple(by_pair.get((send, recv)) for recv in found.names) for send in found.names),
        "derived" if title == "Derived" else "measured",
        notes=(note,),
    )


def _tables(found: Links) -> Iterator[Table]:
    """Every link that is not light, then those of the interfaces."""
    ordered = sorted(found.links, key=lambda link: -_heaviness(link))
    heavy = [link for link in ordered if _heaviness(link) >= LIGHT * _heaviness(ordered[0])]
    columns = (
        Column("from", "From", "name", value=lambda link: found.names.get(link.from_worker, "?")),
        Column("to", "To", "name", value=lambda link: found.names.get(link.to_worker, "?")),
        Column("bytes", "Measured", "bytes", "link_bytes"),
        Column("derived_bytes", "Derived", "bytes"),
        Column("overhead", "Added", "share", "link_overhead"),
        Column("retransmitted_bytes", "Sent again", "bytes", is_detail=True),
        Column("rtt_ms", "Round trip", "ms", is_detail=True),
    )
    known = [column for column in columns if any(column.of(link) is not None for link in heavy)]
    yield table(
        "links",
        "Bytes between processes, per step",
        heavy,
        known,
        source="derived" if found.reason else "measured",
        notes=tuple(_notes(found, ordered[len(heavy) :])),
    )
    if found.interfaces:
        yield _interfaces(found)


def _heaviness(link: Link) -> float:
    return max(link.bytes or 0.0, link.derived_bytes or 0.0)


def _notes(found: Links, light: list[Link]) -> Iterator[str]:
    if found.overhead is not None:
        added = DEFINITIONS["link_overhead"]
        yield f"{added.label}: {units.share(found.overhead)} ({added.formula})."
    if found.header_share is not None and not found.interfaces:
        yield (
            f"Headers of Ethernet, IP and TCP add about {units.share(found.header_share)}: "
            f"derived, {HEADER_BYTES} bytes for each packet."
        )
    if light:
        small = units.size(sum(link.bytes or 0.0 for link in light))
        which = "links carry" if len(light) > 1 else "link carries"
        total = " in total" if len(light) > 1 else ""
        yield f"{len(light)} further {which} {small} per step{total}."
    if found.reason:
        yield f"Not measured: {found.reason}."


def _interfaces(found: Links) -> Table:
    """The bytes of the links beside what the network interfaces counted for them."""
    columns = (
        Column("worker", "Process", "name", value=lambda use: found.names.get(use.worker, "?")),
        Column("direction", "Direction"),
        Column("bytes", "Interface", "bytes"),
        Column("payload_bytes", "Links", "bytes"),
        Column("header_bytes", "Headers", "bytes"),
        Column("retransmitted_bytes", "Sent again", "bytes"),
        Column("overhead", "Added", "share", "interface_overhead"),
        Column("unexplained", "Unexplained", "share"),
    )
    return table(
        "interfaces",
        "Links compared with the network interfaces, which count Ethernet, IP and TCP headers",
        found.interfaces,
        columns,
        source="measured",
        notes=(DEFINITIONS["interface_overhead"].text,),
        is_minor=True,
    )
