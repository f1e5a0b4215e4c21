"""Starts a sweep, shows its progress and the time left, cancels and resumes it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from strategy_app.forms import trusted_paths
from strategy_app.server import state
from strategy_app.widgets.text import as_markdown
from strategy_core.launcher.run_handle import RunHandle
from strategy_profiles.errors import LabError
from strategy_profiles.reporting import units
from strategy_profiles.run.in_progress import refuse_beside_a_run, run_in_progress
from strategy_profiles.spec.run_spec import RunSpec
from strategy_sweep import record
from strategy_sweep.contest import runs_left
from strategy_sweep.record import Sweep
from strategy_sweep.results import Results, results
from strategy_sweep.running import RunningSweep, Sweeps
from strategy_sweep.sweeping import run_spec
from strategy_sweep.text import time_left

LOOK_EVERY_S = 0.5
LOOK_ELSEWHERE_EVERY_S = 2.0
_REFUSED = "sweep_refused"


def begin(sweep: Sweep, *, is_new: bool) -> str:
    """Make the missing runs of a sweep, and return its name; raises LabError."""
    lab = state.lab()
    refuse_beside_a_run(lab.runs)
    for spec in _specs(sweep):
        trusted_paths.require(spec)

    def launch(spec: RunSpec, path: Path) -> RunHandle:
        return lab.launch(spec, path.name)

    return lab.part(Sweeps).start(sweep, lab.runs, launch, lab.launcher, is_new=is_new)


def _specs(sweep: Sweep) -> list[RunSpec]:
    """The spec of every configuration: the file of a sweep may have come from elsewhere."""
    return [run_spec(sweep, index) for index in range(len(sweep.configurations))]


def show_progress(sweep: Sweep) -> None:
    """Draw the state of a sweep by who runs it, and redraw it while it runs.

    This server: its progress. Another program: which run that makes. No program: a button to go on.
    Draws nothing for a sweep that has ended.
    """
    running = state.lab().part(Sweeps).find(sweep.name)
    if running is not None and not running.is_over:
        st.fragment(_follow, run_every=LOOK_EVERY_S)(running, len(sweep.runs))
        return
    if running is not None and running.error is not None:
        st.error(as_markdown(running.error))
    current = results(sweep)
    if current.now.next_run is None:
        return
    busy = run_in_progress(state.lab().runs)
    # The runs of a sweep are called `NAME-c3-LABEL-1` (configuration, round).
    if busy is not None and busy.startswith(f"{sweep.name}-c"):
        st.fragment(_follow_elsewhere, run_every=LOOK_ELSEWHERE_EVERY_S)(sweep, busy)
    else:
        _offer_to_go_on(current)


def _follow(running: RunningSweep, num_drawn: int) -> None:
    """The run that is made now. A finished run draws the whole page again."""
    sweeping = running.sweeping
    if running.is_over or len(sweeping.sweep.runs) != num_drawn:
        st.rerun()
    current, now = results(sweeping.sweep), sweeping.progress
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(_share(current), text=_text(current))
        is_off = sweeping.is_cancelled
        st.button("Cancel", key="sweep_cancel", disabled=is_off, on_click=sweeping.cancel)
    if sweeping.is_cancelled:
        st.caption("Ends after the current step.")
    elif now is not None:
        step = now.handle.step
        doing = "starting" if step is None else f"step {step + 1:,}"
        label = sweeping.sweep.configurations[now.planned.configuration].label
        st.caption(as_markdown(f"Round {now.planned.round}, {label}: {doing}"))


def _text(current: Results) -> str:
    left = time_left(current)
    done = units.counted(len(current.sweep.runs), "run")
    return f"{done} done{f', {left}' if left else ''}"


def _share(current: Results) -> float:
    """The share of the runs that is done if the leaders never separate."""
    done, left = len(current.sweep.runs), runs_left(current.sweep, current.now)[1]
    return done / (done + left) if done + left else 1.0


def _follow_elsewhere(sweep: Sweep, busy: str) -> None:
    lab = state.lab()
    now = record.load(lab.runs, sweep.name)
    if len(now.runs) != len(sweep.runs) or run_in_progress(lab.runs) is None:
        st.rerun()
    st.info(as_markdown(f"Another program is running this sweep. Current run: {busy}."))


def _offer_to_go_on(current: Results) -> None:
    sweep = current.sweep
    paths = {
        item
        for spec in _specs(sweep)
        for item in trusted_paths.paths_of(spec.workload, spec.data).items()
    }
    for field, path in sorted(paths):
        trusted_paths.ask_to_trust(field, path, source="the file of this sweep")
    done = units.counted(len(sweep.runs), "run")
    text = f"Interrupted after {done}. What was measured is kept."
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Go on", key="sweep_resume", type="primary")
        st.markdown(text if sweep.runs else "No run of this sweep is done yet.")
    if pressed:
        st.session_state[_REFUSED] = _why_not(sweep)
        if st.session_state[_REFUSED] is None:
            st.rerun()
    if refused := st.session_state.get(_REFUSED):
        st.error(as_markdown(refused))


def _why_not(sweep: Sweep) -> str | None:
    try:
        begin(sweep, is_new=False)
    except LabError as error:
        return str(error)
    return None
