"""The charts that bear out an overview: step time, breakdown, loss, memory."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import streamlit as st

from strategy_app.charts import steps as step_charts
from strategy_app.charts.memory import memory as memory_chart
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.key_numbers import number
from strategy_app.widgets.segments import segment_marks
from strategy_app.widgets.step_chart import HINT, has_timeline, step_chart
from strategy_app.widgets.text import as_markdown
from strategy_app.widgets.tiles import Tile
from strategy_profiles.analysis.key_numbers import why_no_loss
from strategy_profiles.analysis.machine_load import NAMED_CORES, MachineLoad
from strategy_profiles.analysis.memory import counted_by, memory_of, memory_use, rows_by_device
from strategy_profiles.reporting import units
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.tables.columns import Floats, Ints, floats
from strategy_profiles.tables.store import Profile


def show_step_time(opened: OpenRun) -> None:
    """Every step of the run, its segments marked."""
    st.header("Step time", help=DEFINITIONS["step_time"].text)
    step, wall = opened.ask(curve, "wall_ms")
    if step.size < 2:
        st.markdown(_of_no_curve(step, wall))
        return
    chart = step_charts.step_time(step, wall, segment_marks(opened.profile.segments))
    step_chart(opened, chart, key="overview_steps", alt="Wall time of each step in milliseconds")
    if has_timeline(opened):
        st.caption(HINT)


def _of_no_curve(step: Floats, wall_ms: Floats) -> str:
    """What is known of no step, or of one: a point in a chart would not say more."""
    if not step.size:
        return "No step was recorded."
    return f"One step was recorded: step {step[0]:.0f}, {units.milliseconds(float(wall_ms[0]))}."


def show_loss(opened: OpenRun) -> None:
    """Loss by step, across segments: a live change carries the training state over."""
    st.header("Loss", help=DEFINITIONS["loss"].text)
    step, values = opened.ask(curve, "loss")
    known = np.isfinite(values)
    if not known.any():
        reason = why_no_loss(opened.profile.unknown)
        st.markdown(as_markdown(f"{reason[0].upper()}{reason[1:]}."))
        return
    if known.sum() == 1:
        at, value = step[known][0], units.number(float(values[known][0]), 4)
        st.markdown(f"Step {at:.0f} alone recorded a loss: {value}.")
        return
    chart = step_charts.loss(step, values, segment_marks(opened.profile.segments))
    step_chart(opened, chart, key="overview_loss", alt="Loss by step")


def peak_memory(opened: OpenRun) -> Tile:
    """The highest peak of all devices and processes of a run, and whose it is."""
    used = opened.ask(memory_use)
    if not used:
        return number("peak_bytes", units.MISSING, None, _why_no_memory(opened.profile))
    peak, short = max(used, key=lambda item: item.peak_bytes), short_names(u.device for u in used)
    who = memory_of(peak.worker, short[peak.device], opened.profile.process_titles)
    return number("peak_bytes", units.size(peak.peak_bytes), note=who)


def _why_no_memory(profile: Profile) -> str:
    return profile.unknown.get("memory", "no device or process was sampled in this run")


def show_memory(opened: OpenRun) -> None:
    """The curve of each device or process; nothing if memory was not sampled."""
    used = opened.ask(memory_use)
    if not used:
        return
    st.header("Memory", help=DEFINITIONS["peak_bytes"].text)
    growing = [item for item in used if item.is_growing]
    short, titles = short_names(item.device for item in used), opened.profile.process_titles
    if growing:
        names = ", ".join(memory_of(item.worker, short[item.device], titles) for item in growing)
        st.warning(f"Memory keeps growing over the run: {as_markdown(names, 200)}.")
    lines = opened.ask(_memory_lines)
    if any(len(steps) > 1 for steps, _ in lines.values()):
        chart = memory_chart(lines)
        step_chart(opened, chart, key="overview_memory", alt="Memory in use by step")
    sources = dict.fromkeys(counted_by(item.source) for item in used)
    st.caption(f"Counted by {as_markdown(units.listed(list(sources)))}.")


def show_machine_load(load: MachineLoad | None) -> None:
    """Say who used the machine's cores while the segment trained, if that was sampled."""
    if load is None:
        return
    stolen = (
        f", other virtual machines {load.stolen_cores:.1f}"
        if load.stolen_cores >= NAMED_CORES
        else ""
    )
    st.caption(
        f"CPU: of {units.counted(load.num_cores, 'core')} the run used {load.run_cores:.1f}, "
        f"other programs {load.other_cores:.1f}{stolen} (means of "
        f"{units.counted(load.num_samples, 'sample')} after the first step).",
        help=TERMS["CPU cores in use"],
    )


def curve(profile: Profile, column: str) -> tuple[Floats, Floats]:
    """Step numbers, ascending, and a column of the steps table."""
    steps = profile.table("steps")
    number = floats(steps, "step")
    order = np.argsort(number, kind="stable")
    return number[order], floats(steps, column)[order]


def _memory_lines(profile: Profile) -> dict[str, tuple[Floats, Floats]]:
    rows = profile.table("memory")
    of_each = rows_by_device(rows)
    short = short_names(device for _, device, _ in of_each)
    titles = profile.process_titles
    members: dict[str, list[Ints]] = defaultdict(list)
    for (worker, device, _), chosen in of_each.items():
        members[memory_of(worker, short[device], titles)].append(chosen)
    step, used = floats(rows, "step"), floats(rows, "bytes_in_use")
    together = {name: np.sort(np.concatenate(parts)) for name, parts in members.items()}
    return {name: (step[chosen], used[chosen]) for name, chosen in together.items()}
