"""During and after a run: the live view, its knobs, Stop, and where to go next."""

from __future__ import annotations

import streamlit as st

from strategy_lab.app.components.live import live_view
from strategy_lab.app.control.controls import Controls, HostedControls, controls_of
from strategy_lab.app.control.live_knobs import live_knobs
from strategy_lab.app.forms import trusted_paths
from strategy_lab.app.forms.configure import launch, new_run
from strategy_lab.app.forms.spec_summary import asked
from strategy_lab.app.live.live_run import LiveRun
from strategy_lab.app.server import state
from strategy_lab.app.widgets.links import page_link
from strategy_lab.app.widgets.text import as_markdown
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.run.topology import has_servers
from strategy_lab.profiles.spec.run_spec import parse_spec

LOOK_EVERY_S = 0.5
LOOK_EVERY_ENDED_S = 3.0
"""At a run that is over: another one may be recorded under its name."""
NEXT = (
    ("overview", "Overview"),
    ("timeline", "Timeline"),
    ("communication", "Communication"),
    ("placement", "Placement"),
    ("compare", "Compare"),
    ("runs", "Report and exports"),
)

SERVERS = ("servers", "Servers")


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
    _head(run_id, live, active)
    with st.sidebar:
        if active is not None:
            live_knobs(run_id, live, active)
        else:
            _aside(live)
    own = handle if active is handle else None
    asked = live_view(run_id, can_kill=own is not None)
    if asked is not None and own is not None:
        own.kill_process(asked)
    is_quiet = live.status.is_over and active is None
    every_s = LOOK_EVERY_ENDED_S if is_quiet else LOOK_EVERY_S
    st.fragment(_look, run_every=every_s)(run_id, _drawn(live, active))


def _head(run_id: str, live: LiveRun, active: Controls | None) -> None:
    is_here = active is not None and not isinstance(active, HostedControls)
    left, middle, right = st.columns([4, 1, 1], vertical_alignment="center")
    left.markdown(f"### {as_markdown(run_id, 90)}")
    if active is not None:
        middle.button(
            "Stop",
            key="stop_button",
            width="stretch",
            type="primary",
            on_click=_stop,
            args=(live, active),
            disabled="stop" in state.lab().sent_to(live).values(),
            help="Ends the run after the current step. Everything recorded is kept.",
        )
    elif (
        live.spec is not None
        and live.status.is_over
        and middle.button(
            "Run again",
            key="again_button",
            width="stretch",
            help="Starts a new run with the same spec.",
            disabled=_waits(live),
        )
    ):
        _run_again(live)
    right.button(
        "New run",
        key="new_button",
        width="stretch",
        on_click=new_run,
        disabled=is_here,
        help="Only one run at a time: stop this one first." if is_here else None,
    )
    if live.status.is_over:
        _ask_for_paths(live)
        with st.container(horizontal=True, gap="medium"):
            with_servers = any(map(has_servers, live.segments[-1:]))
            for page, label in (*NEXT, *[SERVERS] * with_servers):
                page_link(page, label, run=run_id)


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
            trusted_paths.ask(field, path, source="this run's record")


def _run_again(live: LiveRun) -> None:
    try:
        launch(parse_spec(live.spec or {}))
    except LabError as error:
        st.error(as_markdown(error))


def _aside(live: LiveRun) -> None:
    """Beside a run that cannot be changed from here: why, and what it was asked."""
    if live.status.is_over:
        st.markdown("#### Configuration")
    else:
        st.markdown("#### Watching only")
        st.markdown(":small[This lab did not start this run. Stop it in its terminal with Ctrl-C.]")
    rows = [
        f":small[:gray[{as_markdown(name)}] {as_markdown(value, 80)}]"
        for name, value in asked(live.applied_spec or {}).items()
    ]
    st.markdown("  \n".join(rows))


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
