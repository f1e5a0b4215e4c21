"""The collectives of a segment: a table of ops with their bandwidths, and who waits in them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from app.charts.waiting import wait_and_transfer
from app.parts.text import as_markdown, plain
from profiles.analysis.breakdown import ReplicaBreakdown, StepBreakdown
from profiles.analysis.collective_calls import CollectiveCall, ReplicaCall
from profiles.definitions import DEFINITIONS

TABLE = "collectives_table"


def show_collectives(calls: Sequence[CollectiveCall]) -> CollectiveCall | None:
    """The table; the op whose row was chosen, if any."""
    st.subheader("Collectives", help=DEFINITIONS["traffic"].text)
    if not calls:
        st.markdown("No collective in the captured steps: nothing was reduced across replicas.")
        return None
    event = st.dataframe(
        pd.DataFrame([_row(call) for call in calls]),
        column_config=_columns(),
        hide_index=True,
        placeholder="–",
        on_select="rerun",
        selection_mode="single-row",
        key=TABLE,
        height=min(38 + 35 * len(calls), 38 + 35 * 9),
    )
    st.caption(formulas())
    rows = event.selection.rows if event else []
    return calls[rows[0]] if rows and rows[0] < len(calls) else None


def formulas() -> str:
    """The two bandwidths as they are computed, with their source."""
    found = (DEFINITIONS["algbw"], DEFINITIONS["busbw"])
    lines = "; ".join(item.formula for item in found)
    return as_markdown(f"{lines} ({found[1].source}). n is the group size; GB/s is 10^9 bytes/s.")


def show_replicas(chosen: CollectiveCall | None, breakdown: StepBreakdown) -> None:
    """Who waits, and how long tensors move: in the whole step, or in one call of the chosen op.

    The whole step is the breakdown's: collectives that run side by side are never summed.
    """
    st.subheader("Wait and transfer per replica", help=DEFINITIONS["wait"].text)
    parts: Sequence[ReplicaCall | ReplicaBreakdown] = (
        chosen.replicas if chosen else breakdown.replicas
    )
    if not parts or all(part.wait_ms is None for part in parts):
        st.markdown("Not recorded per replica.")
        return
    chart = wait_and_transfer(
        _names(parts, breakdown),
        [part.wait_ms for part in parts],
        [part.transfer_ms for part in parts],
        unit="ms per call" if chosen else "ms per step",
    )
    st.plotly_chart(chart, key="comm_replicas", alt="Wait and transfer per replica")
    if chosen:
        st.caption(f"Only {as_markdown(chosen.op)} {chosen.place}, {as_markdown(chosen.name, 80)}.")
    else:
        st.caption("All of a step. Choose a row of the table to see one op alone.")


def _names(parts: Sequence[ReplicaCall | ReplicaBreakdown], breakdown: StepBreakdown) -> list[str]:
    """`replica 1`, or `worker 1 / replica 1` where there are several workers."""
    worker = {known.replica: known.worker for known in breakdown.replicas}
    names = [f"replica {part.replica}" for part in parts]
    if len(set(worker.values())) < 2:
        return names
    return [
        f"worker {worker[part.replica]} / {name}" if part.replica in worker else name
        for part, name in zip(parts, names, strict=True)
    ]


def _row(call: CollectiveCall) -> dict[str, object]:
    return {
        "op": plain(call.op),
        "name": plain(call.name, 120),
        "place": call.place,
        "instance": _instances(call),
        "group": call.group_size,
        "per_step": call.per_step,
        "bytes": call.bytes,
        "wait_ms": call.wait_ms,
        "transfer_ms": call.transfer_ms,
        "algbw": call.algbw_gbps,
        "busbw": call.busbw_gbps,
        "time": call.source or "unknown",
        "size": call.bytes_source or "unknown",
    }


def _instances(call: CollectiveCall) -> str | None:
    if call.instances is None:
        return None
    first, last = call.instances
    return str(first) if first == last else f"{first} to {last}"


def _columns() -> dict[str, object]:
    column = st.column_config
    return {
        "op": column.TextColumn("Collective", width=85),
        "name": column.TextColumn("Op in the graph", width="medium"),
        "place": column.NumberColumn(
            "Call", width=50, help="Its place among the calls of its kind in a step."
        ),
        "instance": column.TextColumn(
            "Instances", width="small", help="The runtime's keys: they count on with every step."
        ),
        "group": column.NumberColumn("Group", width=60, help="n: replicas that take part."),
        "per_step": column.NumberColumn("Per step", width="small", format="%.3g"),
        "bytes": column.NumberColumn(
            "Bytes", width="small", format="localized", help="S: size of one call."
        ),
        "wait_ms": column.NumberColumn(
            "Wait, ms", width=95, format="%.3f", help=DEFINITIONS["wait"].text
        ),
        "transfer_ms": column.NumberColumn(
            "Transfer, ms", width=95, format="%.3f", help=DEFINITIONS["transfer"].text
        ),
        "algbw": column.NumberColumn(
            "algbw, GB/s", width=95, format="%.3g", help=DEFINITIONS["algbw"].text
        ),
        "busbw": column.NumberColumn(
            "busbw, GB/s", width=95, format="%.3g", help=DEFINITIONS["busbw"].text
        ),
        "time": column.TextColumn("Time from", width=85, help="Where the times came from."),
        "size": column.TextColumn("Bytes from", width=85, help="Where the size came from."),
    }
