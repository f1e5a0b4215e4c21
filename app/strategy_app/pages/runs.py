"""Runs and reports: every run of the runs folder, its exports, SQL over it, and its deletion."""

from __future__ import annotations

import streamlit as st

from strategy_app.server import state
from strategy_app.server.opened import OpenRun, open_run
from strategy_app.widgets.copy_as import offer_copy_of_recorded
from strategy_app.widgets.downloads import show_downloads
from strategy_app.widgets.empty import empty
from strategy_app.widgets.first_runs import offer_first_runs, show_more_runs
from strategy_app.widgets.picker import LAST_RUN, pick_run, say_unknown
from strategy_app.widgets.places import RUN, show_head, show_row
from strategy_app.widgets.run_dialogs import offer_delete, offer_rename, offer_tags
from strategy_app.widgets.run_filter import pick_runs
from strategy_app.widgets.run_list import show_runs
from strategy_app.widgets.runs_folder import (
    RunEntry,
    list_runs,
    other_folders,
    runs_without_text_name,
)
from strategy_app.widgets.sql_box import show_sql
from strategy_app.widgets.text import as_markdown
from strategy_app.widgets.together import show_together
from strategy_profiles.errors import LabError
from strategy_profiles.reporting import units


def page() -> None:
    """What can be done with the chosen run, the list, and what the run offers to read."""
    left, right = st.columns([3, 2], vertical_alignment="center")
    root = state.lab().runs
    runs = list_runs(root)
    with left, st.container(key="runs_head", horizontal=True, vertical_alignment="center"):
        show_head("runs")
        if runs and st.button("Record, import, examples", key="more_runs"):
            show_more_runs(root)
    if not runs:
        empty(
            "No run yet.",
            f"Runs are stored in {root.resolve()}. Start one, or record, import or open one below.",
            page="lab",
            link="New run",
        )
        offer_first_runs(root)
    else:
        with right.container(key="run_picker"):
            entry = pick_run(runs, key="run", label="Chosen run", shows_label=False)
        # The list of a long folder fills the window: what is done with the run is above it.
        opened = _show_actions(entry, runs) if entry else None
        if entry is None:
            say_unknown("run")
        _show_list(runs)
        if opened:
            _show_exports(opened)
    if unnamed := runs_without_text_name(root):
        names = ", ".join(as_markdown(ascii(path.name)[1:-1], 40) for path in unnamed[:10])
        what = "1 run is" if len(unnamed) == 1 else f"{len(unnamed)} runs are"
        st.caption(f"{what} not listed: the folder's name is not UTF-8. Rename it: {names}")
    strangers = other_folders(root)
    if strangers:
        names = ", ".join(as_markdown(path.name, 40) for path in strangers[:10])
        what = "1 folder holds" if len(strangers) == 1 else f"{len(strangers)} folders hold"
        st.caption(f"{what} no run: {names}")


def _show_list(runs: list[RunEntry]) -> None:
    """The list with its filter. Several selected rows draw their runs together."""
    chosen, group = pick_runs(runs)
    if not chosen:
        st.markdown(f"None of {units.counted(len(runs), 'run')} matches. Remove a word or a tag.")
        return
    selected = show_runs(chosen, group)
    if len(selected) > 1:
        show_together(selected)


def _show_actions(entry: RunEntry, runs: list[RunEntry]) -> OpenRun | None:
    """What can be done with a run, which is returned if it can be read."""
    st.session_state[LAST_RUN] = entry.name
    # Drawn before the run is read, so that a run whose reading fails can be deleted.
    with st.container(key="run_actions", horizontal=True, vertical_alignment="center"):
        links = st.container(horizontal=True, vertical_alignment="center", width="content")
        if entry.spec:
            offer_copy_of_recorded(entry.spec)
        if not entry.is_damaged:
            offer_tags(entry, runs)
        offer_rename(entry)
        offer_delete(entry)
    try:
        opened = open_run(entry.path)
    except LabError as error:
        st.error(as_markdown(error))
        return None
    with links:
        show_row(RUN, entry.name, is_over=opened.profile.status.is_over)
    return opened


def _show_exports(opened: OpenRun) -> None:
    reports, sql = st.tabs(["Reports and exports", "SQL"])
    with reports:
        show_downloads(opened.profile)
    with sql:
        show_sql(opened.profile)


page()
