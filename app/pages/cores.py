"""TPU cores: the mesh, each core's share of the step, what moved between cores, what fell back."""

from __future__ import annotations

import pandas as pd
import streamlit as st
from msgspec import structs

from strategy_lab.app.charts.base import label
from strategy_lab.app.charts.mesh import CorePlace, mesh
from strategy_lab.app.charts.phases import breakdown
from strategy_lab.app.widgets.empty import empty
from strategy_lab.app.widgets.on_tpu import show_on_tpu
from strategy_lab.app.widgets.opened import OpenRun
from strategy_lab.app.widgets.picker import run_page
from strategy_lab.app.widgets.segments import pick_segment
from strategy_lab.app.widgets.text import as_html, plain
from strategy_lab.app.widgets.verdict import show_sentence
from strategy_lab.profiles.analysis.cores import Core, Cores, cores
from strategy_lab.profiles.analysis.tpu_check import tpu_check
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.device_names import short_names
from strategy_lab.profiles.reporting.palette import phase_name
from strategy_lab.profiles.run.events import SegmentOpened
from strategy_lab.profiles.tables.schema import CATEGORIES


def page() -> None:
    opened = run_page("TPU cores")
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        show(opened, segment)


def show(opened: OpenRun, segment: SegmentOpened) -> None:
    found = opened.ask(cores, segment)
    if found.reason:
        reason = f"{found.reason[0].upper()}{found.reason[1:]}."
        if opened.profile.is_imported:
            empty(reason, "The Overview and the Timeline show each core as a replica.")
        else:
            next_step = "Choose TPUStrategy in the Lab: virtual devices emulate a TPU's cores."
            empty(reason, next_step, page="lab", link="Open the Lab")
        return
    show_sentence(sentence(found, segment))
    short = short_names(item.device for item in found.cores)
    if found.expansion:
        st.header("The mesh of cores")
        places = [
            CorePlace(
                item.coordinates,
                item.replica,
                (f"replica {item.replica}", f"core {item.core}", label(short[item.device])),
            )
            for item in found.cores
            if item.coordinates
        ]
        st.plotly_chart(
            mesh(places, found.expansion.topology), key="cores_mesh", alt="The mesh of cores"
        )
    show_times(found)
    show_cores(found, short)
    show_communications(found)
    show_fallbacks(found)
    show_on_tpu(opened.ask(tpu_check, segment))


def sentence(found: Cores, segment: SegmentOpened) -> str:
    """What ran where, and whether all of it was partitioned, as HTML."""
    per_replica = len(segment.core_devices[0]) if segment.core_devices else 1
    text = f"<b>{segment.num_replicas}</b> replicas of <b>{per_replica}</b> "
    text += "core." if per_replica == 1 else "cores."
    if found.expansion is None:
        return text + " How the program is spread over them is known after its first step."
    moved = sum(found.expansion.moved_bytes.values())
    is_partial = any(item.moved_bytes is None for item in found.expansion.collectives)
    text += f" A step moves {'at least ' if is_partial else ''}"
    text += f"<b>{as_html(units.size(moved))}</b> between cores."
    if per_replica == 1:
        return text
    num_split = sum(found.expansion.partitioned.values())
    num_back = sum(item.count for item in found.fallbacks)
    text += f" <b>{num_split:,}</b> ops were split over cores, "
    return text + (
        f"<b>{num_back:,}</b> could not be split and were gathered to core 0."
        if num_back
        else "and none fell back to core 0."
    )


def show_times(found: Cores) -> None:
    """Draw how each core's mean captured step divides into phases (`CATEGORIES`)."""
    timed = [item for item in found.cores if item.split]
    st.header("Step time of each core")
    if not timed:
        st.markdown("Times need a captured step; this segment has none yet.")
        return
    names = [f"replica {item.replica}, core {item.core}" for item in timed]
    phases = {phase: [item.phase_ms(phase) for item in timed] for phase in CATEGORIES}
    st.plotly_chart(breakdown(names, phases), key="cores_phases", alt="Phases of each core")
    num_steps = max(item.split.num_steps for item in timed if item.split)
    st.caption(
        f"Measured: means over {num_steps} captured steps, from each core's op spans. A core "
        "waits while a tensor that it needs has not been sent. A replica computes while any "
        "of its cores does."
    )


def show_cores(found: Cores, short: dict[str, str]) -> None:
    """A row per core."""
    st.header("Every core")
    rows = [core_row(item, short) for item in found.cores]
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        placeholder="–",
        key="cores_table",
        column_config={
            "replica": column.NumberColumn("Replica", width="small"),
            "core": column.NumberColumn("Core", width="small"),
            "place": column.TextColumn("On the mesh", width="small"),
            "device": column.TextColumn("Device", width=105),
            "ops": column.NumberColumn("Ops", width="small", format="localized"),
            **{
                phase: column.NumberColumn(
                    f"{phase_name(phase).capitalize()}, ms/step", format="%.2f"
                )
                for phase in CATEGORIES
            },
            "sent": column.NumberColumn("Sent, bytes/step", format="localized"),
            "received": column.NumberColumn("Received, bytes/step", format="localized"),
        },
    )
    if found.num_steps:
        st.caption(
            f"Times as in the chart. Bytes are derived from the sends of {found.num_steps} "
            "captured steps and their sizes in the graph."
        )
    else:
        st.caption("Times and bytes need a captured step; this segment has none yet.")


def core_row(item: Core, short: dict[str, str]) -> dict[str, object]:
    return {
        "replica": item.replica,
        "core": item.core,
        "place": str(item.coordinates) if item.coordinates else None,
        "device": plain(short[item.device]),
        "ops": item.num_ops,
        **{phase: item.phase_ms(phase) for phase in CATEGORIES},
        "sent": item.sent_bytes,
        "received": item.received_bytes,
    }


def show_communications(found: Cores) -> None:
    """What the cores exchange in a step, by kind."""
    st.header("Between cores")
    rows = found.expansion.collectives if found.expansion else []
    if not rows:
        st.markdown("The cores of this program exchange nothing.")
        return
    frame = pd.DataFrame([structs.asdict(row) for row in rows])
    frame = frame.sort_values("moved_bytes", ascending=False, na_position="last")
    column = st.column_config
    st.dataframe(
        frame,
        hide_index=True,
        placeholder="–",
        key="cores_collectives",
        column_config={
            "op": column.TextColumn("Communication"),
            "group_size": column.NumberColumn("Cores", width="small"),
            "count": column.NumberColumn("Per step", width="small"),
            "bytes": column.NumberColumn("Bytes of each core", format="localized"),
            "moved_bytes": column.NumberColumn("Bytes moved, all cores", format="localized"),
        },
    )
    st.caption("Derived from the traced graph; a size known only when the step runs is missing.")


def show_fallbacks(found: Cores) -> None:
    """Every op that could not be partitioned: correct, but on one core."""
    st.header("Gathered to core 0")
    if not found.fallbacks:
        st.markdown("No op with split operands had to be gathered.")
        return
    rows = [
        {
            "op": plain(item.op),
            "count": item.count,
            "bytes": item.bytes,
            "reason": plain(item.reason, 200),
            "names": plain(", ".join(item.names), 400),
        }
        for item in found.fallbacks
    ]
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        placeholder="–",
        key="cores_fallbacks",
        column_config={
            "op": column.TextColumn("Op type", width="small"),
            "count": column.NumberColumn("Ops", width="small"),
            "bytes": column.NumberColumn("Bytes gathered", format="localized"),
            "reason": column.TextColumn("Why", width="large"),
            "names": column.TextColumn("Names", width="large"),
        },
    )


page()
