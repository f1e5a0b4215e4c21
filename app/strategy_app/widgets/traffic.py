"""From which device to which: the matrix of bytes, and every tensor that was sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from strategy_app.widgets.matrix import show_matrix_chart
from strategy_app.widgets.table import Column, number, show_table, text
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.analysis.busiest_link import busiest_link, heaviest_source
from strategy_profiles.analysis.communication import Traffic
from strategy_profiles.analysis.sends import Send
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.device_names import short_names

MAX_SENDS = 5_000
KINDS = {
    "measured": "Sends of the runtime",
    "ring model": "Collectives, as a ring",
}


def show_matrix(traffic: Sequence[Traffic], devices: Sequence[str]) -> None:
    """Bytes per step between every two devices, of one kind at a time: one is derived."""
    st.header("From device to device", help=DEFINITIONS["transfer_bytes"].text)
    kinds = [kind for kind in KINDS if any(item.source == kind for item in traffic)]
    if not kinds:
        st.markdown(
            "Outside of collectives, no tensor that one device sent to another was recorded in "
            "the captured steps."
        )
        return
    heavy = heaviest_source(traffic)
    chosen = st.segmented_control(
        "Traffic", kinds, default=heavy, format_func=KINDS.__getitem__, key="matrix_kind"
    )
    kind = chosen or heavy or kinds[0]
    shown = [item for item in traffic if item.source == kind]
    if all(item.bytes is None for item in shown):
        st.markdown(f"The sizes of what {units.counted(len(shown), 'pair')} sent are not known.")
        return
    ends = [end for item in shown for end in (item.send_device, item.recv_device)]
    names = list(dict.fromkeys([*devices, *sorted(ends)]))
    short = short_names(names)
    matrix = np.zeros((len(names), len(names)))
    for item in shown:
        matrix[names.index(item.send_device), names.index(item.recv_device)] += item.bytes or 0
    show_matrix_chart(
        [short[name] for name in names],
        matrix,
        key="comm_matrix",
        alt="Bytes per step from device to device",
        num_labelled=9,
    )
    if most := busiest_link(shown, kind):
        num_equal = most.num_equal
        as_many = f"; as many on {units.counted(num_equal, 'other link')}" if num_equal else ""
        st.markdown(
            f"Most bytes per step: **{as_markdown(short[most.send_device])}** to "
            f"**{as_markdown(short[most.recv_device])}**, {units.size(most.bytes)}{as_many}."
        )
    unknown = sum(item.bytes is None for item in shown)
    note = {
        "measured": (
            "Measured: tensors that the runtime sent. Their sizes come from the traced graph, or "
            "from the copies of an imported profile."
        ),
        "ring model": (
            "Derived: what each device sends to its neighbour if every collective runs as a "
            f"ring, {DEFINITIONS['ring_share'].formula} ({DEFINITIONS['ring_share'].source})."
        ),
    }[kind]
    st.caption(note + (f" {unknown} pairs have an unknown size." if unknown else ""))


def show_sends(sends: Sequence[Send]) -> None:
    """Every tensor sent between devices: what, how large, from where to where, how long."""
    st.header("Transfers", help=DEFINITIONS["transfer_bytes"].text)
    if not sends:
        st.markdown("The runtime sent no tensor from one device to another in the captured steps.")
        return
    short = short_names(name for item in sends for name in (item.send_device, item.recv_device))
    search = st.text_input("Search a tensor or device", key="sends_search", placeholder="e.g. loss")
    wanted = search.casefold()
    columns = _columns(short)
    rows = [
        item
        for item in sends
        if any(wanted in str(column.value(item)).casefold() for column in columns.values())
    ]
    show_table("sends_table", rows[:MAX_SENDS], columns, most_rows=10)
    shown = f"{min(len(rows), MAX_SENDS):,} of {len(sends):,}"
    st.caption(f"{shown} tensors with their sender and receiver. Duration: from send to receipt.")


def _columns(short: dict[str, str]) -> dict[str, Column]:
    return {
        "tensor": text("Tensor", lambda item: plain(item.tensor, 200), width="large"),
        "from": text("From", lambda item: plain(short[item.send_device]), width=110),
        "to": text("To", lambda item: plain(short[item.recv_device]), width=110),
        "bytes": number("Bytes", lambda item: item.bytes, width="small", format="localized"),
        "per_step": number("Per step", lambda item: item.per_step, width="small", format="%.3g"),
        "duration_ms": number(
            "Duration, ms", lambda item: item.duration_ms, width="small", format="%.3f"
        ),
        "time": text("Time from", lambda item: item.source or "unknown", width="small"),
        "size": text("Bytes from", lambda item: item.bytes_source or "unknown", width="small"),
    }
