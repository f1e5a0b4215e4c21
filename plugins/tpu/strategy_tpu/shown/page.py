"""TPU cores: the mesh, each core's share of the step, what moved between cores, what fell back."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import streamlit as st

from strategy_app.charts.base import label
from strategy_app.screen.answer import answer_of, show_beginning, show_parts
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.picker import needs, run_page
from strategy_app.widgets.segments import pick_segment
from strategy_profiles.analysis.cores import Cores
from strategy_profiles.analysis.cores import cores as cores_of
from strategy_profiles.analysis.tpu_check import tpu_check
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile
from strategy_tpu.shown.mesh_chart import CorePlace, mesh
from strategy_tpu.shown.mesh_links import MeshLinks, mesh_links
from strategy_tpu.shown.on_tpu import show_on_tpu
from strategy_tpu.shown.question import cores

_COLUMN_PX = 130
"""What a core takes with a link's bytes beside it: narrower, the bytes appear on hover or tap."""


def show_page() -> None:
    opened = run_page(
        "cores",
        shows="what each core of a TPU does, and what goes over the links of its mesh",
        needed="TPUStrategy (virtual CPU devices emulate the cores)",
        suits=needs(attrgetter("has_cores")),
    )
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        show(opened, segment)


def show(opened: OpenRun, segment: SegmentOpened) -> None:
    answer = answer_of(opened, cores, segment.segment)
    show_beginning(answer)
    measured = opened.ask(cores_of, segment)
    if measured.expansion:
        st.header("The mesh of cores")
        show_mesh(measured, measured.expansion.topology, opened.ask(_links, segment))
    show_parts(answer.parts, is_whole=not answer.sentence)
    if answer.sentence:
        show_on_tpu(opened.ask(tpu_check, segment))


def _links(profile: Profile, segment: SegmentOpened) -> MeshLinks:
    return mesh_links(profile, segment, cores_of(profile, segment))


def show_mesh(measured: Cores, topology: Sequence[int], links: MeshLinks) -> None:
    """The mesh with its links."""
    short = short_names(item.device for item in measured.cores)
    places = [
        CorePlace(
            item.coordinates,
            item.replica,
            (f"replica {item.replica}", f"core {item.core}", label(short[item.device])),
        )
        for item in measured.cores
        if item.coordinates
    ]
    with st.container(key="mesh"):
        # A link is two of the chart's traces, a line and its bytes; the cores come after them.
        room = _COLUMN_PX * topology[0] * topology[3]
        st.html(
            f"<style>.st-key-mesh {{container-type:inline-size}} @container (max-width:{room}px) "
            f"{{.st-key-mesh .trace:nth-child(-n+{2 * len(links.links)}) .textpoint "
            "{display:none}}</style>"
        )
        chart = mesh(places, topology, links.links)
        draw_chart(chart, key="cores_mesh", alt="The mesh of cores and its links")
