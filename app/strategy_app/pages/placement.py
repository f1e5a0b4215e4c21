"""Placement: the devices on which ops and variables actually are."""

from __future__ import annotations

import streamlit as st

from strategy_app.server.opened import OpenRun
from strategy_app.widgets.device_map import show_device_map, show_variables
from strategy_app.widgets.empty import empty
from strategy_app.widgets.model_graph import show_model_graph
from strategy_app.widgets.op_table import show_op_table
from strategy_app.widgets.picker import run_page
from strategy_app.widgets.placement_diff import show_difference, show_what_changed
from strategy_app.widgets.segments import pick_segment
from strategy_app.widgets.text import as_html, as_markdown
from strategy_app.widgets.verdict import show_sentence
from strategy_profiles.analysis.placement import Placement, placement
from strategy_profiles.analysis.retracing import first_trace_note
from strategy_profiles.reporting import units
from strategy_profiles.run.events import SegmentOpened


def page() -> None:
    opened = run_page("Placement", shows="the device of each op and of each variable")
    segment = pick_segment(opened.profile) if opened else None
    if opened and segment:
        _show(opened, segment)


def _show(opened: OpenRun, segment: SegmentOpened) -> None:
    placed = opened.ask(placement, segment.segment)
    if placed.reason:
        empty(
            f"Placement is not known: {placed.reason}.",
            "It is recorded when a segment traces its step for the first time."
            if opened.profile.status.is_over
            else "It is recorded when the first step is traced.",
        )
        return
    show_sentence(_sentence(placed, has_variables="variables" not in opened.profile.unknown))
    if note := opened.ask(first_trace_note, segment.segment):
        st.caption(as_markdown(note))
    show_what_changed(opened, segment)
    show_model_graph(opened, segment.segment)
    no_variables = opened.profile.unknown.get(
        "variables", "no variable was recorded in this segment"
    )
    environment = opened.profile.environment
    show_device_map(placed, no_variables, environment.threads if environment else None)
    if placed.variables:
        show_variables(placed)
    show_difference(opened, segment)
    show_op_table(opened.profile, segment.segment)


def _sentence(placed: Placement, *, has_variables: bool) -> str:
    """Return the placement in one sentence, as HTML."""
    num_ops = sum(item.num_ops for item in placed.devices)
    devices = units.counted(sum(item.num_ops > 0 for item in placed.devices), "device")
    copied = [item for item in placed.variables if len(item.devices) > 1]
    text = f"<b>{num_ops:,}</b> ops run on {devices}; "
    if not num_ops:
        text = "The step's ops are not recorded; it has "
    if not has_variables:
        return f"{text}variables are not known."
    text += f"<b>{len(placed.variables):,}</b> variables"
    one_copy = [item.bytes_per_copy for item in placed.variables]
    if one_copy and None not in one_copy:
        text += f" of {as_html(units.size(sum(size or 0 for size in one_copy)))}"
    if not placed.variables:
        return f"{text}."
    if not copied:
        return f"{text}, each with one copy."
    counts = {len(item.devices) for item in placed.variables}
    most = max(counts)
    if len(counts) == 1:
        return f"{text}, each with a copy on {most} devices."
    return f"{text}, {len(copied):,} of them with a copy on up to {most} devices."


page()
