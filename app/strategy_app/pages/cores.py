"""TPU cores: the mesh, each core's share of the step, what moved between cores, what fell back."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, methodcaller

import streamlit as st

from strategy_app.charts.base import label
from strategy_app.charts.mesh import CorePlace, mesh
from strategy_app.charts.phases import breakdown
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.empty import empty
from strategy_app.widgets.evidence import say_unlike
from strategy_app.widgets.on_tpu import show_on_tpu
from strategy_app.widgets.picker import needs, run_page
from strategy_app.widgets.segments import facts_of, pick_segment
from strategy_app.widgets.table import number, show_table, text
from strategy_app.widgets.text import as_html, plain
from strategy_app.widgets.verdict import show_sentence
from strategy_profiles.analysis.cores import Cores, cores
from strategy_profiles.analysis.findings import Facts
from strategy_profiles.analysis.mesh_links import AXES, MeshLinks, mesh_links
from strategy_profiles.analysis.tpu_check import tpu_check
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.reporting.palette import phase_name
from strategy_profiles.run.event_parts import CoreTraffic
from strategy_profiles.run.events import CoresExpanded, SegmentOpened
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile

_COLUMN_PX = 130
"""What a core takes with a link's bytes beside it: narrower, the bytes appear on hover or tap."""
_AXIS_NAMES = ("x", "y", "z", "cores of a chip")


def page() -> None:
    opened = run_page(
        "TPU cores",
        shows="what each core of a TPU does, and what goes over the links of its mesh",
        needed="TPUStrategy (virtual CPU devices emulate the cores)",
        suits=needs(attrgetter("has_cores")),
    )
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
        show_mesh(places, found.expansion.topology, opened.ask(_links, segment))
    show_times(found, opened.ask(facts_of, segment.segment))
    show_cores(found, short)
    show_communications(found)
    show_fallbacks(found)
    show_on_tpu(opened.ask(tpu_check, segment))


def _links(profile: Profile, segment: SegmentOpened) -> MeshLinks:
    return mesh_links(profile, segment, cores(profile, segment))


def show_mesh(places: Sequence[CorePlace], topology: Sequence[int], found: MeshLinks) -> None:
    """The mesh with its links, and what each axis carries."""
    with st.container(key="mesh"):
        # A link is two of the chart's traces, a line and its bytes; the cores come after them.
        room = _COLUMN_PX * topology[0] * topology[3]
        st.html(
            f"<style>.st-key-mesh {{container-type:inline-size}} @container (max-width:{room}px) "
            f"{{.st-key-mesh .trace:nth-child(-n+{2 * len(found.links)}) .textpoint "
            "{display:none}}</style>"
        )
        chart = mesh(places, topology, found.links)
        draw_chart(chart, key="cores_mesh", alt="The mesh of cores and its links")
    if found.reason:
        st.caption(f"{found.reason[0].upper()}{found.reason[1:]}.")
        return
    axes = [axis for axis in range(len(AXES)) if found.of_axis(axis)]
    if axes:
        show_table(
            "cores_axes",
            axes,
            {
                "axis": text("Axis", _AXIS_NAMES.__getitem__),
                "links": number("Links", lambda axis: len(found.of_axis(axis))),
                "bytes": number(
                    "Bytes/step, all links",
                    lambda axis: sum(link.bytes for link in found.of_axis(axis)),
                    format="localized",
                ),
                "most": number(
                    "Bytes/step, busiest link",
                    lambda axis: max(link.bytes for link in found.of_axis(axis)),
                    format="localized",
                ),
            },
        )
    unsized = (
        f" {units.counted(found.num_unsized, 'send')} of unknown size not counted."
        if found.num_unsized
        else ""
    )
    st.caption(
        "Derived: the emulated cores' sends in captured steps, both directions together, each "
        "routed along x, then y, z and the chip's cores: an axis carries sum(bytes * distance). "
        "A real TPU has rings and wrap-around links, so its links carry other amounts." + unsized
    )


def sentence(found: Cores, segment: SegmentOpened) -> str:
    """What ran where, and whether all of it was partitioned, as HTML."""
    per_replica = len(segment.core_devices[0]) if segment.core_devices else 1
    text = f"<b>{segment.num_replicas}</b> replicas of <b>{per_replica}</b> "
    text += "core." if per_replica == 1 else "cores."
    if found.expansion is None:
        return text + " How the program is spread over them is known after its first step."
    text += f" {_moved(found, found.expansion)}"
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


def _moved(found: Cores, expansion: CoresExpanded) -> str:
    """What moves between the cores: in captured steps, or in the program before TensorFlow's
    optimizer has removed what no result needs."""
    if found.sent_between_bytes is not None:
        size = as_html(units.size(found.sent_between_bytes))
        return f"A step moves <b>{size}</b> between cores."
    traced = as_html(units.size(sum(expansion.moved_bytes.values())))
    is_partial = any(item.moved_bytes is None for item in expansion.collectives)
    return (
        f"The traced step moves {'at least ' if is_partial else ''}<b>{traced}</b> between cores."
    )


def show_times(found: Cores, facts: Facts) -> None:
    """Draw how each core's mean captured step divides into phases (`CATEGORIES`)."""
    timed = [item for item in found.cores if item.split]
    st.header("Step time of each core")
    if not timed:
        st.markdown("Times need a captured step; this segment has none yet.")
        return
    names = [f"replica {item.replica}, core {item.core}" for item in timed]
    phases = {phase: [item.phase_ms(phase) for item in timed] for phase in CATEGORIES}
    draw_chart(breakdown(names, phases), key="cores_phases", alt="Phases of each core")
    num_steps = max(item.split.num_steps for item in timed if item.split)
    st.caption(
        f"Measured: means over {num_steps} captured steps, from each core's op spans. A core "
        "waits while a tensor that it needs has not been sent. A replica computes while any "
        "of its cores does."
    )
    say_unlike(facts.breakdown, facts.steps.median_ms)


def show_cores(found: Cores, short: dict[str, str]) -> None:
    """A row per core."""
    st.header("Every core")
    phases = {
        phase: number(
            f"{phase_name(phase).capitalize()}, ms",
            methodcaller("phase_ms", phase),
            format="%.2f",
            width=88,
        )
        for phase in CATEGORIES
        if phase != "delay" or any(core.phase_ms(phase) for core in found.cores)
    }
    show_table(
        "cores_table",
        found.cores,
        {
            "replica": number("Replica", lambda core: core.replica, width=60),
            "core": number("Core", lambda core: core.core, width=60),
            "place": text(
                "On the mesh",
                lambda core: str(core.coordinates) if core.coordinates else None,
                width=90,
            ),
            "device": text("Device", lambda core: plain(short[core.device]), width=100),
            "ops": number("Ops", lambda core: core.num_ops, width="small", format="localized"),
            **phases,
            "sent": number("Sent, bytes", lambda core: core.sent_bytes, format="localized"),
            "received": number(
                "Received, bytes", lambda core: core.received_bytes, format="localized"
            ),
        },
    )
    if found.num_steps:
        st.caption(
            "Of a step. Times as in the chart. Bytes are derived from the sends of "
            f"{found.num_steps} captured steps and their sizes in the graph."
        )
    else:
        st.caption("Times and bytes need a captured step; this segment has none yet.")


def show_communications(found: Cores) -> None:
    """What the cores exchange in a step, by kind."""
    st.header("Between cores")
    rows = found.expansion.collectives if found.expansion else []
    if not rows:
        st.markdown("The cores of this program exchange nothing.")
        return
    show_table(
        "cores_collectives",
        sorted(rows, key=_moved_bytes, reverse=True),
        {
            "op": text("Communication", lambda row: row.op),
            "group_size": number("Cores", lambda row: row.group_size, width="small"),
            "count": number("Per step", lambda row: row.count, width="small"),
            "bytes": number("Bytes of each core", lambda row: row.bytes, format="localized"),
            "moved_bytes": number(
                "Bytes moved, all cores", lambda row: row.moved_bytes, format="localized"
            ),
        },
    )
    st.caption(
        "Derived from the traced graph. TensorFlow's optimizer removes what no result needs, so "
        "captured steps may send less. A size known only when the step runs is missing."
    )


def _moved_bytes(row: CoreTraffic) -> float:
    return -1 if row.moved_bytes is None else row.moved_bytes


def show_fallbacks(found: Cores) -> None:
    """Every op that could not be partitioned: correct, but on one core."""
    st.header("Gathered to core 0")
    if not found.fallbacks:
        st.markdown("No op with split operands had to be gathered.")
        return
    show_table(
        "cores_fallbacks",
        found.fallbacks,
        {
            "op": text("Op type", lambda item: plain(item.op), width="small"),
            "count": number("Ops", lambda item: item.count, width="small"),
            "bytes": number("Bytes gathered", lambda item: item.bytes, format="localized"),
            "reason": text("Why", lambda item: plain(item.reason, 200), width="large"),
            "names": text("Names", lambda item: plain(", ".join(item.names), 400), width="large"),
        },
    )


page()
