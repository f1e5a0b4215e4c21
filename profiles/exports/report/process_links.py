"""Traffic between processes: measured and derived bytes per link, and the protocol's overhead."""

from __future__ import annotations

from strategy_lab.profiles.analysis.findings import Facts
from strategy_lab.profiles.analysis.links import links
from strategy_lab.profiles.exports.report.facts import RunFacts
from strategy_lab.profiles.exports.report.markup import Markup, join
from strategy_lab.profiles.exports.report.section import name, note, quantity, table
from strategy_lab.profiles.reporting import units

MAX_LINKS = 64


def process_links(facts: RunFacts, item: Facts) -> Markup:
    """Return the tables of one segment; empty if it ran in one process."""
    found = links(facts.profile, item.segment)
    if len(found.names) < 2:
        return join()
    if not found.links:
        return note(f"Bytes between processes: {found.reason}.")
    heaviest = sorted(found.links, key=lambda link: -max(link.bytes or 0, link.derived_bytes or 0))
    rows = [
        (
            name(found.names.get(link.from_worker, "?")),
            name(found.names.get(link.to_worker, "?")),
            quantity(units.size(link.bytes), link.bytes),
            quantity(units.size(link.derived_bytes), link.derived_bytes),
            quantity(units.share(link.overhead), link.overhead),
            quantity(units.size(link.retransmitted_bytes), link.retransmitted_bytes),
            quantity(units.milliseconds(link.rtt_ms), link.rtt_ms),
        )
        for link in heaviest[:MAX_LINKS]
    ]
    heads = (
        "From",
        "To",
        ("Measured", "link_bytes"),
        "Derived",
        ("Added", "link_overhead"),
        "Sent again",
        "Round trip",
    )
    source = "derived" if found.reason else "measured"
    return table("Between processes, bytes per step", heads, rows, source=source)
