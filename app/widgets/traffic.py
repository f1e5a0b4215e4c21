"""From which device to which: the matrix of bytes, and every tensor that was sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from strategy_lab.app.widgets.matrix import show_matrix_chart
from strategy_lab.app.widgets.text import as_markdown, plain
from strategy_lab.profiles.analysis.communication import Traffic
from strategy_lab.profiles.analysis.sends import Send
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.definitions import DEFINITIONS
from strategy_lab.profiles.reporting.device_names import short_names

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
        st.markdown("No tensor was sent from one device to another in the captured steps.")
        return
    heavy = max(kinds, key=lambda kind: sum(t.bytes or 0 for t in traffic if t.source == kind))
    kind = st.segmented_control(
        "Traffic", kinds, default=heavy, format_func=KINDS.__getitem__, key="matrix_kind"
    )
    shown = [item for item in traffic if item.source == (kind or heavy)]
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
    known = [item for item in shown if item.bytes]
    if known:
        most = max(known, key=lambda item: item.bytes or 0)
        st.markdown(
            f"Most bytes per step: **{as_markdown(short[most.send_device])}** to "
            f"**{as_markdown(short[most.recv_device])}**, {units.size(most.bytes)}."
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
    }[kind or heavy]
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
    rows = [_row(item, short) for item in sends]
    if wanted:
        rows = [row for row in rows if any(wanted in str(c).casefold() for c in row.values())]
    st.dataframe(
        pd.DataFrame(rows[:MAX_SENDS]),
        column_config=_columns(),
        hide_index=True,
        placeholder="–",
        key="sends_table",
        height=min(38 + 35 * max(len(rows), 1), 400),
    )
    shown = f"{min(len(rows), MAX_SENDS):,} of {len(sends):,}"
    st.caption(f"{shown} tensors with their sender and receiver. Duration: from send to receipt.")


def _row(item: Send, short: dict[str, str]) -> dict[str, object]:
    return {
        "tensor": plain(item.tensor, 200),
        "from": plain(short[item.send_device]),
        "to": plain(short[item.recv_device]),
        "bytes": item.bytes,
        "per_step": item.per_step,
        "duration_ms": item.duration_ms,
        "time": item.source or "unknown",
        "size": item.bytes_source or "unknown",
    }


def _columns() -> dict[str, object]:
    column = st.column_config
    return {
        "tensor": column.TextColumn("Tensor", width="large"),
        "from": column.TextColumn("From", width=110),
        "to": column.TextColumn("To", width=110),
        "bytes": column.NumberColumn("Bytes", width="small", format="localized"),
        "per_step": column.NumberColumn("Per step", width="small", format="%.3g"),
        "duration_ms": column.NumberColumn("Duration, ms", width="small", format="%.3f"),
        "time": column.TextColumn("Time from", width="small"),
        "size": column.TextColumn("Bytes from", width="small"),
    }
