"""How runs come into the folder without the Lab: recorded programs, imports, and examples."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from strategy_app.widgets.links import open_page
from strategy_app.widgets.text import as_markdown
from strategy_profiles.errors import LabError
from strategy_profiles.examples import EXAMPLES, Example, unpack


def offer_first_runs(root: Path) -> None:
    """Commands to copy, and a button for each example, which opens it."""
    st.markdown("Record a program of your own, unchanged:")
    st.code("strategy-lab trace train.py", language=None)
    st.markdown("Import a profile of another program (XPlane files, Chrome traces):")
    st.code("strategy-lab import PROFILE -o runs/imported", language=None)
    st.markdown("Or look at an example:")
    with st.container(horizontal=True):
        for example in EXAMPLES:
            if st.button(example.title, key=f"example_{example.name}"):
                _open(root, example)


@st.dialog("More runs")
def show_more_runs(root: Path) -> None:
    """Offer them in a dialog, where the folder has runs already."""
    offer_first_runs(root)


def _open(root: Path, example: Example) -> None:
    try:
        run = unpack(example, root)
    except LabError as error:
        st.error(as_markdown(error))
        return
    open_page("overview", run.name)
