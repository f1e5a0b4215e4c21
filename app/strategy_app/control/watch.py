"""During and after a run: the live view, its knobs, Stop, and where to go next."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import streamlit as st

from strategy_app.components.live import live_view
from strategy_app.control.controls import Controls, HostedControls, controls_of
from strategy_app.control.live_knobs import live_knobs
from strategy_app.forms import trusted_paths
from strategy_app.forms.configure import launch, new_run
from strategy_app.forms.spec_summary import requested_fields
from strategy_app.live.live_run import LiveRun
from strategy_app.screen.cause_so_far import show_cause_so_far
from strategy_app.server import state
from strategy_app.widgets.copy_as import offer_copy_of_recorded
from strategy_app.widgets.links import open_page, page_link
from strategy_app.widgets.places import RUN, WHY, mark_place, page_row, show_row, show_ways_of_why
from strategy_app.widgets.text import as_markdown
from strategy_app.widgets.title import set_title
from strategy_profiles.errors import LabError
from strategy_profiles.run.checkpoints import last_saved_state
from strategy_profiles.run.manifest import read_run_file
from strategy_profiles.run.status import NOTHING_YET
from strategy_profiles.spec.run_spec import parse_spec

LOOK_EVERY_S = 0.5
LOOK_EVERY_ENDED_S = 3.0
"""At a run that is over: another one may be recorded under its name."""
REPORT = ("runs", "Report and exports")


def watch_page(run_id: str) -> None:
    """Show a run of the runs folder, no matter who started it."""
    lab = state.lab()
    try:
        live = lab.hub.current(run_id)
    except LabError as error:
        st.error(as_markdown(error))
        st.button("New run", type="primary", on_click=new_run)
        return
    handle = lab.handles.get(run_id)
    active = controls_of(live, handle)
    set_title("Steps", run_id)
    # Taken before anything is drawn: an answer that comes meanwhile has to draw the page again.
    drawn = _drawn(live, active)
    # Before everything beside it, which would move when the sidebar opens.
    with st.sidebar:
        if active is not None:
            live_knobs(run_id, live, active)
            if live.applied_spec:
                offer_copy_of_recorded(live.applied_spec)
        else:
            _aside(live)
    mark_place(RUN, WHY.page)
    _head(run_id, live, active)
    own = handle if active is handle else None
    is_over = live.status.is_over and active is None and live.status.message != NOTHING_YET
    cause = st.container(key="cause" if is_over else "cause_so_far")
    if is_over:  # what is below has its place from the beginning
        with cause:
            show_cause_so_far(live.folder, is_over=True)
    request = live_view(run_id, can_kill=own is not None, is_over=is_over)
    if request.kill is not None and own is not None:
        own.kill_process(request.kill)
    if request.step is not None:
        open_page("timeline", run_id, request.step)
    if not is_over:
        with cause:  # after the live view, which does not wait for it
            show_cause_so_far(live.folder, is_over=False, num_segments=len(live.segments))
    every_s = LOOK_EVERY_ENDED_S if is_over else LOOK_EVERY_S
    st.fragment(_look, run_every=every_s)(run_id, drawn)


def _head(run_id: str, live: LiveRun, active: Controls | None) -> None:
    is_here = active is not None and not isinstance(active, HostedControls)
    is_over = live.spec is not None and live.status.is_over
    widths = [3, 1.4, 1, 1] if is_over else [4, 1, 1] if active else [5, 1]
    with st.container(key="run_head"):
        left, *others, right = st.columns(widths, vertical_alignment="top")
    left.markdown(f"### {as_markdown(run_id, 90)}")
    if active is not None:
        others[0].button(
            "Stop",
            key="stop_button",
            width="stretch",
            type="primary",
            on_click=_stop,
            args=(live, active),
            disabled="stop" in state.lab().sent_to(live).values(),
            help="Ends the run after the current step. Everything recorded is kept.",
        )
    elif is_over:
        with others[0]:
            _offer_to_continue(live)
        if others[1].button(
            "Run again",
            key="again_button",
            width="stretch",
            help="Starts a new run with the same spec.",
            disabled=_waits(live),
        ):
            _run_again(live)
        if _waits(live):
            others[1].caption("Confirm its own files below first.")
    right.button(
        "New run",
        key="new_button",
        width="stretch",
        on_click=new_run,
        disabled=is_here,
        help="Stop this run first." if is_here else None,
    )
    if live.status.is_over:
        _ask_for_paths(live)
    with page_row():  # a line at 1280 px
        show_row(RUN, run_id, is_over=live.status.is_over)
        show_ways_of_why(run_id)
        if live.status.is_over:
            page_link(*REPORT, run=run_id)


def _stop(live: LiveRun, active: Controls) -> None:
    try:
        state.lab().sent_to(live)[active.stop()] = "stop"
    except LabError as error:  # another host's folder, which takes nothing
        st.error(as_markdown(error))


def _paths(live: LiveRun) -> dict[str, str]:
    spec = live.spec or {}
    workload, data = spec.get("workload"), spec.get("data")
    return trusted_paths.paths_of(str(workload), str(data) if data else None) if workload else {}


def _waits(live: LiveRun) -> bool:
    return not all(trusted_paths.is_trusted(*item) for item in _paths(live).items())


def _ask_for_paths(live: LiveRun) -> None:
    """The run may have been started elsewhere, or by a link: its own files are shown first."""
    if not _waits(live):
        return
    with st.expander("Run again with its own files"):
        for field, path in _paths(live).items():
            trusted_paths.ask_to_trust(field, path, source="this run's record")


def _run_again(live: LiveRun) -> None:
    _launch(live.spec or {}, None)


def _launch(spec: Mapping[str, Any], checkpoint: Path | None) -> None:
    try:
        launch(parse_spec(spec), checkpoint)
    except LabError as error:
        st.error(as_markdown(error))


def _offer_to_continue(live: LiveRun) -> None:
    """A button that starts a run from the state that this one left, or says why there is none."""
    saved = last_saved_state(live.folder)
    none = "This run ended before its state was saved."
    if st.button(
        "Continue from here",
        key="continue_button",
        width="stretch",
        help=none
        if saved is None
        else "Starts a new run from the saved weights, optimizer state and position in the data, "
        "in the last configuration.",
        disabled=saved is None or _waits(live),
    ):
        assert saved is not None
        spec = dict(live.applied_spec or {}) | {"steps": None, "reconfigure": []}
        _launch(spec, saved.path)
    if saved is not None and saved.step != (live.last_step or 0) + 1:
        st.caption(f"From step {saved.step:,}, the last saved state.")


def _aside(live: LiveRun) -> None:
    """Beside a run that cannot be changed from here: why, and what it was asked."""
    if live.status.is_over:
        st.markdown("#### Configuration")
        if not live.applied_spec:
            st.markdown(f":small[{_of_program(live.folder)}]")
    else:
        st.markdown("#### Watching only")
        st.markdown(":small[This lab did not start this run. Stop it in its terminal with Ctrl-C.]")
    rows = [
        f":small[:gray[{as_markdown(name)}] {as_markdown(value, 80)}]"
        for name, value in requested_fields(live.applied_spec or {}).items()
    ]
    st.markdown("  \n".join(rows))
    if live.applied_spec:
        offer_copy_of_recorded(live.applied_spec)


def _of_program(folder: Path) -> str:
    """What is known of a run that was not started from a spec."""
    identity = read_run_file(folder)
    if identity is None or identity.program is None:
        return "Not recorded: another program made this run."
    script = as_markdown(PurePath(identity.program.script).name, 60)
    return f"Recorded from **{script}**, a program with its own options."


def _drawn(live: LiveRun, active: Controls | None) -> tuple[object, ...]:
    """What the native part of the page shows; it reruns only when this changes."""
    answers = sum(item["kind"] == "answer" for item in live.news())
    return live.identity, live.status.state, len(live.segments), answers, active is not None


def _look(run_id: str, drawn: tuple[object, ...]) -> None:
    lab = state.lab()
    try:
        live = lab.hub.current(run_id)
    except LabError:
        st.rerun()
    if _drawn(live, controls_of(live, lab.handles.get(run_id))) != drawn:
        st.rerun()
