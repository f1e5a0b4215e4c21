"""How many bytes did each process send each other, and what did the wire add?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
    traffic = links(profile, segment)
    if len(traffic.names) < 2:
        return ()
    if not traffic.links:
        return (Missing("links", TITLE, traffic.reason or "not recorded"),)
    return Alternatives("links_matrix", TITLE, tuple(_matrices(traffic))), *_tables(traffic)


def _matrices(traffic: Links) -> Iterator[Matrix]:
    steps = units.counted(round(traffic.num_steps), "step")
    measured = (
        "Bytes per step. Measured: payload of the TCP connections, counted by the kernel, over "
        f"{steps}. The diagonal is a process's connection to itself."
    )
    mean = ", averaged over the steps of all workers" if traffic.derived_from == FROM_SERVED else ""
    source = _DERIVED_FROM.get(traffic.derived_from or "", "unknown sizes")
    sent = {(link.from_worker, link.to_worker): link for link in traffic.links}
    if any(link.bytes is not None for link in traffic.links):
        by_pair = {pair: link.bytes for pair, link in sent.items()}
        yield _matrix(traffic, "Measured on sockets", by_pair, measured)
    if any(link.derived_bytes is not None for link in traffic.links):
        by_pair = {pair: link.derived_bytes for pair, link in sent.items()}
        yield _matrix(traffic, "Derived", by_pair, f"Bytes per step{mean}. Derived from {source}.")


def _matrix(
    traffic: Links, title: str, by_pair: Mapping[tuple[int, int], float | None], note: str
) -> Matrix:
    return Matrix(
        title,
        title,
        tuple(traffic.names.values()),
        tuple(tuple(by_pair.get((send, recv)) for recv in traffic.names) for send in traffic.names),
        "derived" if title == "Derived" else "measured",
        notes=(note,),
    )


def _tables(traffic: Links) -> Iterator[Table]:
    """Every link that is not light, then those of the interfaces."""
    ordered = sorted(traffic.links, key=lambda link: -_heaviness(link))
    heavy = [link for link in ordered if _heaviness(link) >= LIGHT * _heaviness(ordered[0])]
    columns = (
        Column("from", "From", "name", value=lambda link: traffic.names.get(link.from_worker, "?")),
        Column("to", "To", "name", value=lambda link: traffic.names.get(link.to_worker, "?")),
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
        source="derived" if traffic.reason else "measured",
        notes=tuple(_notes(traffic, ordered[len(heavy) :])),
    )
    if traffic.interfaces:
        yield _interfaces(traffic)


def _heaviness(link: Link) -> float:
    return max(link.bytes or 0.0, link.derived_bytes or 0.0)


def _notes(traffic: Links, light: list[Link]) -> Iterator[str]:
    if traffic.overhead is not None:
        added = DEFINITIONS["link_overhead"]
        yield f"{added.label}: {units.share(traffic.overhead)} ({added.formula})."
    if traffic.header_share is not None and not traffic.interfaces:
        yield (
            f"Headers of Ethernet, IP and TCP add about {units.share(traffic.header_share)}: "
            f"derived, {HEADER_BYTES} bytes for each packet."
        )
    if light:
        small = units.size(sum(link.bytes or 0.0 for link in light))
        which = "links carry" if len(light) > 1 else "link carries"
        total = " in total" if len(light) > 1 else ""
        yield f"{len(light)} further {which} {small} per step{total}."
    if traffic.reason:
        yield f"Not measured: {traffic.reason}."


def _interfaces(traffic: Links) -> Table:
    """The bytes of the links beside what the network interfaces counted for them."""
    columns = (
        Column("worker", "Process", "name", value=lambda use: traffic.names.get(use.worker, "?")),
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
        traffic.interfaces,
        columns,
        source="measured",
        notes=(DEFINITIONS["interface_overhead"].text,),
        is_minor=True,
    )
