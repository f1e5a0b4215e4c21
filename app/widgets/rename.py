"""Dialog to rename a run. Refuses a name that cannot be used, with the reason."""

from __future__ import annotations

import streamlit as st

from strategy_lab.app.widgets.picker import LAST_RUN
from strategy_lab.app.widgets.runs_folder import RunEntry
from strategy_lab.app.widgets.text import as_markdown
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.run.rename import rename_run


def offer_rename(entry: RunEntry) -> None:
    """The button; it opens the question."""
    if st.button("Rename …", key="rename"):
        _ask(entry)


@st.dialog("Rename this run")
def _ask(entry: RunEntry) -> None:
    st.markdown(f"Links to **{as_markdown(entry.name, 200)}** will stop working.")
    with st.form("rename", border=False):
        name = st.text_input("New name", entry.name, key=f"rename_to_{entry.name}")
        asked = st.form_submit_button("Rename it", type="primary", width="stretch")
    if not asked:
        return
    try:
        renamed = rename_run(entry.path, name)
    except LabError as error:
        st.error(as_markdown(error))
        return
    st.query_params["run"] = renamed.name
    st.session_state[LAST_RUN] = renamed.name
    st.session_state.pop("pick_run", None)
    st.session_state.pop("runs_clicked", None)
    st.rerun()
