"""Delete a run: asked back once, refused while it is in use."""

from __future__ import annotations

import streamlit as st

from strategy_lab.app.widgets.picker import LAST_RUN
from strategy_lab.app.widgets.runs_folder import RunEntry
from strategy_lab.app.widgets.text import as_markdown
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.run.remove import folder_bytes, remove_run


def offer_delete(entry: RunEntry) -> None:
    """The button; it opens the question."""
    if st.button("Delete …", key="delete"):
        _ask(entry)


@st.dialog("Delete this run?")
def _ask(entry: RunEntry) -> None:
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
