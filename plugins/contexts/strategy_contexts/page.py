"""Contexts: choose a demonstration or write a program, record it, step through what it did."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from strategy_app.added_routes import links_on
from strategy_app.forms.strategy_cards import DEFAULT
from strategy_app.server.state import lab
from strategy_app.server.viewers import current_viewer
from strategy_app.widgets.places import show_head
from strategy_app.widgets.text import as_markdown
from strategy_contexts import child, course
from strategy_contexts.context_recordings import (
    KEPT,
    Done,
    Key,
    Queued,
    Refused,
    Running,
)
from strategy_contexts.lab_recordings import lab_recordings
from strategy_contexts.limits import of_this_machine
from strategy_contexts.stepper import page
from strategy_contexts.traced_runs import pick_recording
from strategy_core.planning import strategy_catalog
from strategy_profiles.user_input.text import whole_or_none

SHOWN = ("Demonstrations", "The first step of a run")
ALT = "The program, its contexts and values, step by step"
# The stepper has what the header and one row of controls leave of the window.
LAYOUT = """<style>
.stMain [data-testid=stMainBlockContainer] {padding: 3.8rem 1.5rem 0}
[data-testid=stMainBlockContainer] iframe {height: calc(100dvh - 8rem); min-height: 34rem}
[class*='st-key-context_source'] textarea {font-family: monospace}
</style>"""
# Each of two recordings has its name and buttons above it.
LAYOUT_OF_TWO = """<style>
[data-testid=stMainBlockContainer] iframe {height: calc(100dvh - 11.5rem); min-height: 33rem}
</style>"""


def show_page() -> None:
    st.html(LAYOUT)
    controls = st.container(horizontal=True, vertical_alignment="center", gap="small")
    chosen = controls.segmented_control(
        "Show", SHOWN, default=SHOWN[0], required=True, key="shown", label_visibility="collapsed"
    )
    if chosen == SHOWN[0]:
        show_course(controls)
    else:
        lab_recordings().leave(current_viewer())
        with controls:
            recording = pick_recording(lab().runs)
        if recording:
            st.iframe(page(recording), alt=ALT)
    with controls:  # last: its place takes a gap in the row
        show_head("contexts")


def choose() -> list[Key]:
    """The controls: program, strategy, replicas, editor; a second key where two are compared."""
    items = {item.name: item for item in course.demonstrations()}
    rows = {row.name: row for row in strategy_catalog.rows() if row.runs_in != "several"}
    wanted = st.query_params.get("demo")
    if wanted in items and wanted != st.session_state.get("demo_shown"):
        st.session_state["demo"] = wanted  # a link wins over the last choice
    name = st.selectbox(
        "Demonstration",
        list(items),
        format_func=lambda each: items[each].title,
        key="demo",
        label_visibility="collapsed",
    )
    st.session_state["demo_shown"] = st.query_params["demo"] = name
    with st.popover("Strategy"):
        strategy = st.selectbox(
            "Strategy",
            list(rows),
            index=list(rows).index(DEFAULT),
            format_func=lambda each: rows[each].title,
            key="context_strategy",
        )
        replicas = st.number_input(
            "Replicas", 1, 8, 2, key="context_replicas", disabled=rows[strategy].has_one_replica
        )
        other = st.selectbox(
            "Beside it",
            [None, *(each for each in rows if each != strategy)],
            format_func=lambda each: rows[each].title if each else "nothing",
            key="context_beside",
            help="Records the same program under a second strategy and shows both side by side.",
        )
    source = edit(name, items[name].source)
    chosen = [strategy, other] if other else [strategy]
    return [
        (source, each, f"cpu:{1 if rows[each].has_one_replica else replicas}") for each in chosen
    ]


def edit(name: str, source: str) -> str:
    """Show an editor for the program of context demonstration `name` and return its text.

    Returns `source` unchanged, with the reason, if this lab does not run its users' code.
    """
    with st.popover("Change the program", width="content"):
        if refusal := lab().access.why_no_own_code:
            st.info(refusal)
            return source
        changed: str = st.text_area(
            "A program that defines demonstrate(strategy). It runs in its own process",
            source,
            max_chars=child.MAX_SOURCE_CHARACTERS,
            help=what_it_may_use(),
            height=420,
            key=f"context_source_{name}",
        )
        return changed


def what_it_may_use() -> str:
    """The limits of a program, for people."""
    limits = of_this_machine()
    return (
        f"Limits: {limits.wall_s:.0f} s of wall time, {limits.cpu_s:.0f} s of processor time, "
        f"{limits.memory_bytes / 1e9:.1f} GB of memory, {limits.num_processes} processes and "
        f"{limits.disk_bytes / 1e6:.0f} MB of disk. It is also stopped when the last page that "
        "shows it is closed."
    )


@st.fragment(run_every=0.3)
def watch(key: Key) -> None:
    """While a recording runs or waits: say so, offer to stop it; show the page once it is over."""
    held, viewer = lab_recordings(), current_viewer()
    state = held.state(viewer, key)
    if not isinstance(state, Queued | Running):
        st.rerun()
        return
    left, right = st.columns([5, 1], vertical_alignment="center")
    left.info(_waiting_for(state))
    if right.button("Stop", key=f"context_stop_{key[1]}", width="stretch"):
        held.stop(viewer, key)
        st.rerun()


def _waiting_for(state: Queued | Running) -> str:
    if isinstance(state, Running):
        return "Recording: TensorFlow is starting in its own process, a few seconds …"
    most = lab_recordings().max_running
    return (
        f"At most {most} recordings run at once in this lab. This one is number {state.place} "
        "in the queue."
    )


def buttons(key: Key) -> None:
    """Record again and download."""
    held, viewer = lab_recordings(), current_viewer()
    state = held.state(viewer, key)
    if isinstance(state, Queued | Running):
        return
    if st.button("Record again", key=f"context_again_{key[1]}"):
        held.record_again(viewer, key)
        st.rerun()
    if isinstance(state, Done):
        document = state.document
        st.download_button(
            "Download",
            lambda: page(document),
            file_name="contexts.html",
            mime="text/html",
            key=f"context_save_{key[1]}",
            help="One HTML file with everything in it, to step through without the lab.",
        )


def show(key: Key) -> None:
    """Show a recording; its progress while it runs, its error if it failed."""
    state = lab_recordings().state(current_viewer(), key)
    if isinstance(state, Queued | Running):
        watch(key)
    elif isinstance(state, Refused):
        st.error(as_markdown(state.sentence))
    else:
        st.iframe(page(state.document, step=first_step(key)), alt=ALT)


def show_course(controls: DeltaGenerator) -> None:
    """A demonstration, or a program in its place, under one strategy or two side by side."""
    with controls:
        keys = choose()
        lab_recordings().look(current_viewer(), keys)
        if len(keys) == 1:
            buttons(keys[0])
        for link in links_on("contexts"):
            st.link_button(link.title, link.address, help=link.help)
    if len(keys) > 1:
        st.html(LAYOUT_OF_TWO)
    for column, key in zip(st.columns(len(keys)), keys, strict=True):
        with column:
            if len(keys) > 1:
                with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                    st.markdown(f"**{strategy_catalog.row(key[1]).title}**", width="content")
                    buttons(key)
            show(key)


def first_step(key: Key) -> int:
    """Return the step at which the page of `key` opens: the address's when it is first drawn.

    Later the page updates the address itself. The value stays, or the page would be drawn again.
    """
    opened: dict[Key, int] = st.session_state.setdefault("context_steps", {})
    if key not in opened:
        wanted = st.query_params.get("step", "1") if not opened else "1"
        opened[key] = whole_or_none(wanted) or 1
        for oldest in list(opened)[:-KEPT]:
            del opened[oldest]
    return opened[key]
