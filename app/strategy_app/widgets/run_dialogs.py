"""Dialogs that change a run: rename it, tag it, delete it. Each says why it refuses."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from strategy_app.widgets.picker import LAST_RUN
from strategy_app.widgets.runs_folder import RunEntry
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.errors import LabError
from strategy_profiles.reporting import units
from strategy_profiles.run.remove import folder_bytes, remove_run
from strategy_profiles.run.rename import rename_run
from strategy_profiles.run.tags import LONGEST_TAG, MOST_OF_A_RUN, set_tags


def offer_rename(entry: RunEntry) -> None:
    """The button; it opens the question."""
    if st.button("Rename …", key="rename"):
        _ask_name(entry)


@st.dialog("Rename this run")
def _ask_name(entry: RunEntry) -> None:
    st.markdown(f"Links to **{as_markdown(entry.name, 200)}** will stop working.")
    with st.form("rename", border=False):
        name = st.text_input("New name", entry.name, key=f"rename_to_{entry.name}")
        is_pressed = st.form_submit_button("Rename it", type="primary", width="stretch")
    if not is_pressed:
        return
    try:
        renamed = rename_run(entry.path, name)
    except LabError as error:
        st.error(as_markdown(error))
        return
    st.query_params["run"] = renamed.name
    st.session_state[LAST_RUN] = renamed.name
    st.session_state.pop("pick_run", None)
    st.rerun()


def offer_tags(entry: RunEntry, runs: Sequence[RunEntry]) -> None:
    """The button; it opens the tags of a run, with those of the other runs to choose from."""
    if st.button("Tags …", key="tag"):
        _ask_tags(entry, sorted({tag for each in runs for tag in each.tags}, key=str.casefold))


@st.dialog("Tags of this run")
def _ask_tags(entry: RunEntry, known: Sequence[str]) -> None:
    # Beside the list, not below it: its open choices would cover the button.
    form = st.form("tags", border=False)
    with form.container(horizontal=True, vertical_alignment="bottom"):
        tags = st.multiselect(
            f"Choose tags, or write new ones of at most {LONGEST_TAG} characters",
            known,
            default=list(entry.tags),
            key=f"tags_of_{entry.name}",
            format_func=plain,
            accept_new_options=True,
            max_selections=MOST_OF_A_RUN,
        )
        is_pressed = st.form_submit_button("Save", type="primary")
    if not is_pressed:
        return
    try:
        set_tags(entry.path, tags)
    except LabError as error:
        st.error(as_markdown(error))
        return
    st.rerun()


def offer_delete(entry: RunEntry) -> None:
    """The button; it opens the question."""
    if st.button("Delete …", key="delete"):
        _ask_whether(entry)


@st.dialog("Delete this run?")
def _ask_whether(entry: RunEntry) -> None:
    st.markdown(
        f"**{as_markdown(entry.name, 200)}** and everything recorded in it, "
        f"{units.size(folder_bytes(entry.path))}, will be deleted permanently."
    )
    keep, delete = st.columns(2)
    if keep.button("Keep it", key="delete_no", width="stretch"):
        st.rerun()
    if delete.button("Delete it", key="delete_yes", type="primary", width="stretch"):
        try:
            remove_run(entry.path)
        except LabError as error:
            st.error(as_markdown(error))
            return
        st.query_params.pop("run", None)
        st.session_state.pop(LAST_RUN, None)
        st.session_state.pop("pick_run", None)
        st.rerun()
