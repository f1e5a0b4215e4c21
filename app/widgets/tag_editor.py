"""Dialog to tag a run."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from strategy_lab.app.widgets.runs_folder import RunEntry
from strategy_lab.app.widgets.text import as_markdown, plain
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.run.tags import LONGEST_TAG, MOST_OF_A_RUN, set_tags


def offer_tags(entry: RunEntry, runs: Sequence[RunEntry]) -> None:
    """The button; it opens the tags of a run, with those of the other runs to choose from."""
    if st.button("Tags …", key="tag"):
        _ask(entry, sorted({tag for each in runs for tag in each.tags}, key=str.casefold))


@st.dialog("Tags of this run")
def _ask(entry: RunEntry, known: Sequence[str]) -> None:
    with st.form("tags", border=False):
        tags = st.multiselect(
            f"Choose tags, or write new ones of at most {LONGEST_TAG} characters",
            known,
            default=list(entry.tags),
            key=f"tags_of_{entry.name}",
            format_func=plain,
            accept_new_options=True,
            max_selections=MOST_OF_A_RUN,
        )
        asked = st.form_submit_button("Save", type="primary", width="stretch")
    if not asked:
        return
    try:
        set_tags(entry.path, tags)
    except LabError as error:
        st.error(as_markdown(error))
        return
    st.rerun()
