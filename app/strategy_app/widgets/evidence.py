"""The charts that bear out an overview, over the steps of a run."""

from __future__ import annotations

import numpy as np
import streamlit as st

from strategy_app.charts.lines import lines
from strategy_app.charts.steps import over_steps
from strategy_app.server.opened import OpenRun
from strategy_app.widgets.step_chart import HINT, has_timeline, step_chart
from strategy_app.widgets.text import as_markdown
from strategy_profiles.analysis.machine_load import NAMED_CORES, MachineLoad
from strategy_profiles.answers.answer import Lines, Missing, Part
from strategy_profiles.reporting import units
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.tables.columns import Floats, floats
from strategy_profiles.tables.store import Profile


def show_over_steps(opened: OpenRun, part: Part) -> None:
    """Draw a chart over the steps of the run: a click on a point opens the step; or say why not."""
    st.header(part.title, help=part.hint or None)
    if isinstance(part, Missing):
        st.markdown(as_markdown(f"{part.reason[0].upper()}{part.reason[1:]}."))
    if isinstance(part, Lines) and part.lines:
        draw = lines if part.unit == "bytes" else over_steps
        step_chart(opened, draw(part), key=f"overview_{part.key}", alt=f"{part.title} by step")
    for note in part.notes:
        st.caption(as_markdown(note))
    if part.key == "wall" and has_timeline(opened):
        st.caption(HINT)


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
