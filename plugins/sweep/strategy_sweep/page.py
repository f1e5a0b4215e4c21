"""Sweep: the fastest configuration of a workload on this machine. `?sweep=NAME` links to one."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from strategy_app.forms import trusted_paths
from strategy_app.forms.field_errors import FieldErrors
from strategy_app.server import state
from strategy_app.widgets.places import show_head
from strategy_app.widgets.text import as_markdown
from strategy_app.widgets.title import set_title
from strategy_core.planning.inventory import Inventory
from strategy_profiles.errors import LabError
from strategy_profiles.reporting import units
from strategy_sweep import record
from strategy_sweep.contest import runs_left, sweep_progress
from strategy_sweep.form import SweepRequest, fit_or_loop, pick_axes
from strategy_sweep.progress import begin, show_progress
from strategy_sweep.record import Sweep
from strategy_sweep.results import results
from strategy_sweep.results_on_page import show_files, show_results
from strategy_sweep.running import Sweeps
from strategy_sweep.sweeping import new_sweep
from strategy_sweep.text import by_reason

NEW = "New sweep"
_CHOSEN = "sweep"
_START_S = 5.0  # assumed time of a run beside its steps, until a sweep has measured it


def show_page() -> None:
    lab = state.lab()
    known = list(record.names(lab.runs))
    head, picker = st.columns([2, 1], vertical_alignment="center")
    with head:
        show_head("sweep")
    chosen = _pick(known, picker) if known else NEW
    if chosen == NEW:
        _configure(known)
        return
    try:
        sweep = record.load(lab.runs, chosen)
    except LabError as error:
        st.error(as_markdown(error))
        return
    set_title("Sweep", chosen)
    _show(sweep)


def _pick(known: list[str], container: DeltaGenerator) -> str:
    active = state.lab().part(Sweeps).active
    wanted = st.query_params.get(_CHOSEN) or (active.name if active else known[0])
    options = [NEW, *known]
    if st.session_state.get(_CHOSEN) not in options:
        st.session_state[_CHOSEN] = wanted if wanted in options else known[0]
    chosen: str = container.selectbox("Sweep", options, key=_CHOSEN, label_visibility="collapsed")
    st.query_params[_CHOSEN] = chosen
    return chosen


def _show(sweep: Sweep) -> None:
    show_progress(sweep)
    current = results(sweep)
    show_results(current)
    if current.winner is not None:
        show_files(current)


def _configure(known: list[str]) -> None:
    lab, field_errors = state.lab(), FieldErrors()
    inventory = lab.inventory() or state.HOST_ONLY
    st.markdown(
        "Runs every combination for a few seconds, stops slow ones early, and repeats the leaders "
        "until their intervals separate."
    )
    with st.container(key="sweep_head"):  # filled last: `first_style` keeps its place
        (head,) = st.columns(1)
    buttons = head.container(horizontal=True, vertical_alignment="center")
    plan = head.container()
    field_errors.below("")
    request = pick_axes(inventory, field_errors)
    sweep = _planned(request, inventory, field_errors)
    busy = lab.active_run()
    waits = trusted_paths.waits_for_person(request.document["workload"], request.document["data"])
    with buttons:
        is_off = sweep is None or waits or busy is not None
        pressed = st.button("Start", type="primary", key="sweep_start", disabled=is_off)
        st.button(
            "Keras fit against own loop",
            on_click=fit_or_loop,
            args=(inventory,),
            help="Fills the form in.",
        )
    with plan:
        if busy:
            st.caption(f"{as_markdown(busy)} is running. Stop it, or wait until it ends.")
        if sweep is not None:
            _tell_plan(sweep, known)
    if pressed and sweep is not None:
        try:
            _start(sweep)
        except LabError as error:
            field_errors.show(error)


def _planned(
    request: SweepRequest, inventory: Inventory, field_errors: FieldErrors
) -> Sweep | None:
    try:
        runs = state.lab().runs
        return new_sweep(request.base(), request.axes, inventory, runs, request.budget)
    except LabError as error:
        field_errors.show(error)
        return None


def _tell_plan(sweep: Sweep, known: list[str]) -> None:
    """How many configurations, and roughly how long."""
    num = len(sweep.configurations)
    each, is_measured = _seconds_of_a_run(sweep, known)
    least, most = (_roughly(n * each) for n in runs_left(sweep, sweep_progress(sweep)))
    how = "measured by the last sweep" if is_measured else "assumed"
    st.markdown(
        f"**{units.counted(num, 'configuration')}**, roughly {least} to {most} "
        f"({units.seconds(each)} a run, {how})."
    )
    runs = f"{units.counted(num, 'configuration')} to run"
    with st.expander(f"{runs}, {len(sweep.left_out)} left out"):
        for index, item in enumerate(sweep.configurations):
            said = " (the default)" if index == sweep.reference else ""
            st.markdown(f"- {as_markdown(item.label)}{said}")
        for reason, labels in by_reason(sweep.left_out).items():
            why = as_markdown(reason, 1_000)
            st.markdown(f"- :small[Left out: {as_markdown(units.listed(labels), 2_000)}: {why}]")


def _roughly(seconds: float) -> str:
    """`8 min`, or of less than two minutes `95 s`."""
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"


def _seconds_of_a_run(sweep: Sweep, known: list[str]) -> tuple[float, bool]:
    """The time of a run, and whether another sweep has measured how long a start takes."""
    for name in known[:1]:
        try:
            last = record.load(state.lab().runs, name)
        except LabError:
            continue
        if last.runs:
            beside = max(last.seconds / len(last.runs) - last.budget.length_s, 0.0)
            return sweep.budget.length_s + beside, True
    return sweep.budget.length_s + _START_S, False


def _start(sweep: Sweep) -> None:
    """Begin, and go over to watching it; raises LabError."""
    st.query_params[_CHOSEN] = begin(sweep, is_new=True)
    st.session_state.pop(_CHOSEN, None)
    st.rerun()
