"""More replicas: the predicted curve from one or two runs, over the recorded or another link."""

from __future__ import annotations

import streamlit as st

from strategy_app.screen.answer import show_beginning, show_parts
from strategy_app.server import state
from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.runs_folder import RunEntry, list_runs
from strategy_app.widgets.segments import pick_segment
from strategy_app.widgets.text import as_html, plain
from strategy_app.widgets.verdict import show_sentence
from strategy_profiles.errors import LabError
from strategy_profiles.tables.store import Profile
from strategy_replay.scaling.answer import more_replicas, on_a_mesh
from strategy_replay.scaling.curve import throughput_curve
from strategy_replay.scaling.link import Link, read_link, ready_links
from strategy_replay.scaling.own_link import CHOSEN, pick_own_link
from strategy_replay.scaling.predicting import CURVE, ScalingPrediction, predict_scaling
from strategy_replay.scaling.recorded_steps import segment_of
from strategy_replay.scaling.tpu_mesh import MeshPrediction, is_emulated, predict_mesh

_NONE, _RECORDED = "no other run", "as recorded"


def show_page() -> None:
    opened = run_page(
        "scaling",
        shows="how long a step would take on more replicas than were recorded",
    )
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        _show(opened, segment.segment)


def _show(opened: OpenRun, segment: int) -> None:
    """Draw the choices, then the chart with its table, or why there is none."""
    left, right = st.columns([3, 2])
    entries = {entry.name: entry for entry in _same_program(opened)}
    other = left.selectbox(
        "Second run",
        [_NONE, *entries],
        format_func=lambda name: plain(entries[name].title) if name in entries else name,
        key="scaling_other",
        help="The same program on another number of replicas. Runs on 1 and 2 replicas give a "
        "narrower interval than one run.",
    )
    chosen = right.selectbox(
        "Link", [_RECORDED, *ready_links(), CHOSEN], key="scaling_link", bind="query-params"
    )
    link = pick_own_link() if chosen == CHOSEN else _ready_link(chosen)
    if chosen == CHOSEN and link is None:
        st.markdown("The curve appears once each field above has a valid value.")
        return
    name = other if other in entries else ""
    try:
        if is_emulated(segment_of(opened.profile, segment)):
            show_parts((on_a_mesh(opened.ask(_on_mesh, segment, link)),))
            return
        predicted = opened.ask(_predicted, segment, name, link)
    except LabError as error:
        show_sentence(as_html(error, 400))
        return
    _show_curve(predicted)


def _show_curve(predicted: ScalingPrediction) -> None:
    answer = more_replicas(predicted)
    show_beginning(answer)
    if len(predicted.rows) > 1:
        draw_chart(
            throughput_curve(predicted),
            key="scaling_curve",
            alt="Predicted examples per second by the number of replicas",
        )
    show_parts(answer.parts)


def _ready_link(name: str) -> Link | None:
    return None if name == _RECORDED else read_link(name)


def _on_mesh(profile: Profile, segment: int, link: Link | None) -> MeshPrediction:
    return predict_mesh(profile, segment, CURVE, link)


def _predicted(profile: Profile, segment: int, other: str, link: Link | None) -> ScalingPrediction:
    runs, segments = [profile], [segment]
    if other:
        second = open_run(state.lab().runs / other).profile
        runs.append(second)
        segments.append(second.segments[-1].segment if second.segments else 0)
    return predict_scaling(runs, CURVE, link=link, segments=segments)


def _same_program(opened: OpenRun) -> list[RunEntry]:
    """Other runs of the workload, on another number of devices or workers."""
    runs = list_runs(state.lab().runs)
    own = next((entry for entry in runs if entry.name == opened.profile.path.name), None)
    if own is None or not own.spec:
        return []
    return [
        entry
        for entry in runs
        if entry.spec
        and entry.spec.get("workload") == own.spec.get("workload")
        and _size(entry) != _size(own)
    ]


def _size(entry: RunEntry) -> tuple[object, object]:
    assert entry.spec is not None
    return entry.spec.get("workers"), entry.spec.get("devices")
