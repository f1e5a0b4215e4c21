"""Memory of each device over one captured step, and what a device holds at its peak."""

from __future__ import annotations

import streamlit as st

from strategy_app.charts.memory import memory_over_step
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.chart import draw_chart
from strategy_app.widgets.html_table import html_table
from strategy_app.widgets.text import as_markdown, sentence_as_markdown
from strategy_profiles.analysis.memory_spread import FEW
from strategy_profiles.analysis.step_memory import (
    DeviceStepMemory,
    HeldTensor,
    StepMemory,
    peak_sentence,
    step_memory,
)
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names

MOST_ROWS = 12
_HELP = (
    "Variables, and the tensors that the ops of a captured step return. Derived: sizes come from "
    "the graph, times from the ops. An op's output is held until the last op that reads it ends. "
    "Constants and what a kernel needs only while it runs are left out."
)
_HEADS = ("Held", "Kind", "Op", "Size", "Share")


def show_step_memory(opened: OpenRun, segment: int) -> None:
    """Show the devices of a segment; a sentence if no captured step has the sizes."""
    st.header("Memory over a step", help=_HELP)
    found: StepMemory = opened.ask(step_memory, segment)
    highest = found.highest
    if highest is None:
        st.markdown(as_markdown(f"Not available: {found.reason}."))
        return
    short = short_names(item.device for item in found.devices)
    st.markdown(sentence_as_markdown(peak_sentence(highest, short[highest.device])))
    shown = sorted(found.devices, key=lambda item: -item.peak_bytes)[:FEW]
    lines = {
        number: (short[item.device], item.at_ms, item.bytes)
        for number, item in enumerate(found.devices)
        if item in shown
    }
    chart = memory_over_step(lines)
    draw_chart(chart, key="overview_step_memory", alt="Memory by device over one step")
    st.caption(
        f"Step {found.step:,}, derived from the graph and the times of its ops"
        + (
            f"; the {FEW} highest of {len(found.devices)} devices."
            if len(found.devices) > FEW
            else "."
        )
    )
    chosen = highest
    if len(found.devices) > 1:
        chosen = st.selectbox(
            "Held at the peak of",
            found.devices,
            index=found.devices.index(highest),
            format_func=lambda item: f"{short[item.device]}, {units.size(item.peak_bytes)}",
            key=f"step_memory_of_{opened.profile.path.name}_{segment}",
        )
    st.html(_table(chosen, short[chosen.device]))


def _table(item: DeviceStepMemory, name: str) -> str:
    rows = [_row(each.name, each.kind, each.op, each.bytes, item) for each in item.holders]
    rest: tuple[HeldTensor, ...] = item.holders[MOST_ROWS:]
    if rest:
        total = sum(each.bytes for each in rest)
        rows[MOST_ROWS:] = [_row(f"{len(rest):,} more", "", None, total, item)]
    name = f"Held at the peak of {name}"
    return html_table(_HEADS, rows, texts=("Held", "Kind", "Op"), name=name)


def _row(
    name: str, kind: str, op: str | None, num_bytes: int, item: DeviceStepMemory
) -> tuple[str, ...]:
    share = units.share(num_bytes / item.peak_bytes) if item.peak_bytes else units.MISSING
    return name, kind, op or "", units.size(num_bytes), share
