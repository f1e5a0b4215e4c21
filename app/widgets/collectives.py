"""The collectives of a segment: a table of ops with their bandwidths, and who waits in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from strategy_lab.app.charts.waiting import wait_and_transfer
from strategy_lab.app.widgets.text import as_markdown, plain
from strategy_lab.profiles.analysis.breakdown import ReplicaBreakdown, StepBreakdown
from strategy_lab.profiles.analysis.collective_calls import CollectiveCall, ReplicaCall
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.definitions import DEFINITIONS

TABLE = "collectives_table"
GIGA = 1e9


def show_collectives(calls: Sequence[CollectiveCall]) -> CollectiveCall | None:
    """The table; the op whose row was chosen, if any."""
    st.header("Collectives", help=DEFINITIONS["traffic"].text)
    if not calls:
        st.markdown("No collective in the captured steps: nothing was reduced across replicas.")
        return None
    # One unit for all of them, so that they can be compared digit by digit.
    fastest = max((call.busbw_gbps or call.algbw_gbps or 0.0 for call in calls), default=0.0)
    scale, unit = units.size_unit(fastest * GIGA)
    event = st.dataframe(
        pd.DataFrame([_row(call, GIGA / scale) for call in calls]),
        column_config=_columns(f"{unit}/s"),
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
    return as_markdown(f"{lines} ({found[1].source}). n is the group size; 1 GB is 10^9 bytes.")


def show_replicas(
    chosen: CollectiveCall | None, breakdown: StepBreakdown, titles: Mapping[int, str]
) -> None:
    """Who waits, and how long tensors move: in the whole step, or in one call of the chosen op.

    `titles` is what the run's processes are called, by number.

    The whole step is the breakdown's: collectives that run side by side are never summed.
    """
    st.header("Wait and transfer per replica", help=DEFINITIONS["wait"].text)
    parts: Sequence[ReplicaCall | ReplicaBreakdown] = (
        chosen.replicas if chosen else breakdown.replicas
    )
    if not parts or all(part.wait_ms is None for part in parts):
        st.markdown("Not recorded per replica.")
        return
    chart = wait_and_transfer(
        _names(parts, breakdown, titles),
        [part.wait_ms for part in parts],
        [part.transfer_ms for part in parts],
        unit="ms per call" if chosen else "ms per step",
    )
    st.plotly_chart(chart, key="comm_replicas", alt="Wait and transfer per replica")
    if chosen:
        st.caption(f"{as_markdown(chosen.op)} {chosen.place}, {as_markdown(chosen.name, 80)}.")
    else:
        st.caption("All collectives of a step. Choose a row of the table to see a single op.")


def _names(
    parts: Sequence[ReplicaCall | ReplicaBreakdown],
    breakdown: StepBreakdown,
    titles: Mapping[int, str],
) -> list[str]:
    """`replica 1`, or `worker 1 / replica 1` where they are in several processes."""
    worker = {known.replica: known.worker for known in breakdown.replicas}
    names = [f"replica {part.replica}" for part in parts]
    if len(set(worker.values())) < 2:
        return names
    process = {each: titles.get(number, f"worker {number}") for each, number in worker.items()}
    return [
        f"{process[part.replica]} / {name}" if part.replica in process else name
        for part, name in zip(parts, names, strict=True)
    ]


def _row(call: CollectiveCall, per_giga: float) -> dict[str, object]:
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
        "algbw": None if call.algbw_gbps is None else call.algbw_gbps * per_giga,
        "busbw": None if call.busbw_gbps is None else call.busbw_gbps * per_giga,
        "time": call.source or "unknown",
        "size": call.bytes_source or "unknown",
    }


def _instances(call: CollectiveCall) -> str | None:
    if call.instances is None:
        return None
    first, last = call.instances
    return str(first) if first == last else f"{first} to {last}"


def _columns(bandwidth: str) -> dict[str, object]:
    column = st.column_config
    return {
        "op": column.TextColumn("Collective", width=85),
        "name": column.TextColumn("Op in the graph", width="medium"),
        "place": column.NumberColumn(
            "Call", width=50, help="Its position among the calls of this op in a step."
        ),
        "instance": column.TextColumn(
            "Instances",
            width="small",
            help="The runtime's instance keys, which increase with every step.",
        ),
        "group": column.NumberColumn(
            "Group", width=60, help="n: number of participating replicas."
        ),
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
            f"algbw, {bandwidth}", width=95, format="%.3g", help=DEFINITIONS["algbw"].text
        ),
        "busbw": column.NumberColumn(
            f"busbw, {bandwidth}", width=95, format="%.3g", help=DEFINITIONS["busbw"].text
        ),
        "time": column.TextColumn("Time from", width=85, help="Source of the times."),
        "size": column.TextColumn("Bytes from", width=85, help="Source of the size."),
    }
