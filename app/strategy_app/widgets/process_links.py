"""Between the processes of a cluster: bytes per link, measured against derived, and what is added.

Nothing is shown for a segment that ran in one process.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from strategy_app.widgets.matrix import show_matrix_chart
from strategy_app.widgets.table import Column, number, show_table, text
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.analysis.derived_links import (
    FROM_COLLECTIVES,
    FROM_PARAMETERS,
    FROM_SERVED,
)
from strategy_profiles.analysis.links import Links, links
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.tables.store import Profile

MEASURED, DERIVED = "measured", "derived"
KINDS = {MEASURED: "Measured on sockets", DERIVED: "Derived"}
MANY = 6
"""More processes than these take the width of the page."""
DERIVED_FROM = {
    FROM_COLLECTIVES: "the captured collectives, each as a ring: f * S sent to the next process",
    FROM_PARAMETERS: (
        "the parameters, as one ring all-reduce of their gradients: f * S sent to the next process"
    ),
    FROM_SERVED: (
        "the variables on the servers: each is pulled and its gradient pushed in every step"
    ),
}


def links_of(profile: Profile, number: int) -> Links:
    """The links of a segment, by its number."""
    return links(profile, next(item for item in profile.segments if item.segment == number))


def show_links(found: Links) -> None:
    """Show bytes per step between processes, as a matrix and a table, and per interface.

    Draws nothing for a run of one process, and only the reason if no links were recorded.
    Matrix and table are side by side for up to `MANY` processes.
    """
    if len(found.names) < 2:
        return
    st.header("Between processes", help=DEFINITIONS["link_bytes"].text)
    if not found.links:
        st.markdown(f"Not available: {as_markdown(found.reason or 'not recorded')}.")
        return
    if len(found.names) > MANY:
        _show_matrix(found)
        _show_table(found)
    else:
        left, right = st.columns(2)
        with left:
            _show_matrix(found)
        with right:
            _show_table(found)
    _show_interfaces(found)


def _show_matrix(found: Links) -> None:
    known = {
        MEASURED: any(link.bytes is not None for link in found.links),
        DERIVED: any(link.derived_bytes is not None for link in found.links),
    }
    kinds = [kind for kind in KINDS if known[kind]]
    chosen = st.segmented_control(
        "Bytes", kinds, default=kinds[0], format_func=KINDS.__getitem__, key="links_kind"
    )
    kind = chosen or kinds[0]
    numbers = list(found.names)
    matrix = np.zeros((len(numbers), len(numbers)))
    for link in found.links:
        value = link.bytes if kind == MEASURED else link.derived_bytes
        matrix[numbers.index(link.from_worker), numbers.index(link.to_worker)] = value or 0.0
    names = [plain(found.names[number], 24) for number in numbers]
    show_matrix_chart(
        names,
        matrix,
        key="links_matrix",
        alt="Bytes per step from process to process",
        num_labelled=16,
    )
    st.caption(_about(found, kind))


def _about(found: Links, kind: str) -> str:
    if kind == MEASURED:
        return (
            "Bytes per step. Measured: payload of the TCP connections, counted by the kernel, "
            f"over {units.counted(round(found.num_steps), 'step')}. The diagonal is a "
            "process's connection to itself."
        )
    source = DERIVED_FROM.get(found.derived_from or "", "unknown sizes")
    is_served = found.derived_from == FROM_SERVED
    mean = ", averaged over the steps of all workers" if is_served else ""
    return f"Bytes per step{mean}. Derived from {as_markdown(source)}."


def _show_table(found: Links) -> None:
    """Every link that carries more than a thousandth of the heaviest, then the rest in a line."""
    heaviest = max(max(link.bytes or 0.0, link.derived_bytes or 0.0) for link in found.links)
    heavy = [
        link
        for link in found.links
        if max(link.bytes or 0.0, link.derived_bytes or 0.0) >= heaviest / 1000
    ]
    columns = {
        name: column
        for name, column in _columns(found.names).items()
        if any(column.value(link) is not None for link in heavy)
    }
    show_table("links_table", heavy, columns, most_rows=8)
    rest = [link for link in found.links if link not in heavy]
    said = []
    if found.overhead is not None:
        added = DEFINITIONS["link_overhead"]
        said.append(f"{added.label}: {units.number(_percent(found.overhead))} % ({added.formula})")
    if found.header_share is not None and not found.interfaces:
        said.append(
            f"Headers of Ethernet, IP and TCP add about {100 * found.header_share:.2f} %: derived, "
            "66 bytes for each packet"
        )
    if rest:
        small = units.size(sum(link.bytes or 0.0 for link in rest))
        many = f"{len(rest)} further links carry {small} per step in total"
        said.append(many if len(rest) > 1 else f"1 further link carries {small} per step")
    if found.reason:
        said.append(f"Not measured: {as_markdown(found.reason)}")
    st.caption(". ".join(said) + "." if said else "")


def _columns(names: Mapping[int, str]) -> dict[str, Column]:
    return {
        "from": text("From", lambda link: plain(names.get(link.from_worker, "?")), width=135),
        "to": text("To", lambda link: plain(names.get(link.to_worker, "?")), width=135),
        "measured": number(
            "Measured, B", lambda link: _readable(link.bytes), format="localized", width=105
        ),
        "derived": number(
            "Derived, B", lambda link: _readable(link.derived_bytes), format="localized", width=105
        ),
        "overhead": number(
            "Added, % of derived", lambda link: _percent(link.overhead), format="%.6g", width=130
        ),
        "again": number(
            "Resent, B",
            lambda link: _readable(link.retransmitted_bytes),
            format="localized",
            width=80,
        ),
        "rtt": number("RTT, ms", lambda link: link.rtt_ms, format="%.2f", width=70),
    }


def _percent(ratio: float | None) -> float | None:
    """Per cent to three significant digits: a link may carry many times what it must."""
    return None if ratio is None else float(f"{100 * ratio:.3g}")


def _readable(num_bytes: float | None) -> float | None:
    """Round to whole bytes; below 10, to two significant digits."""
    if num_bytes is None or num_bytes >= 10:
        return None if num_bytes is None else float(round(num_bytes))
    return float(f"{num_bytes:.2g}")


def _show_interfaces(found: Links) -> None:
    """Show the bytes of the links beside what the network interfaces counted for them."""
    if not found.interfaces:
        return
    # One unit for all of it, so that its columns can be compared digit by digit.
    scale, unit = units.size_unit(max(use.bytes for use in found.interfaces))
    with st.expander(
        "Links compared with the network interfaces, which count Ethernet, IP and TCP headers"
    ):
        show_table("links_interfaces", found.interfaces, _interface_columns(found, scale, unit))
        st.caption(as_markdown(DEFINITIONS["interface_overhead"].text))


def _interface_columns(found: Links, scale: float, unit: str) -> dict[str, Column]:
    return {
        "process": text(
            "Process", lambda use: plain(found.names.get(use.worker, "?")), width="small"
        ),
        "direction": text("Direction", lambda use: use.direction, width="small"),
        "interface": number(f"Interface, {unit}", lambda use: use.bytes / scale, format="%.5g"),
        "payload": number(f"Links, {unit}", lambda use: use.payload_bytes / scale, format="%.5g"),
        "headers": number(f"Headers, {unit}", lambda use: use.header_bytes / scale, format="%.3g"),
        "again": number(
            f"Retransmitted, {unit}", lambda use: use.retransmitted_bytes / scale, format="%.3g"
        ),
        "overhead": number(
            "Added, % of links", lambda use: _percent(use.overhead), format="%.6g", width="small"
        ),
        "open": number(
            "Unexplained, %", lambda use: _percent(use.unexplained), format="%.4f", width="small"
        ),
    }
