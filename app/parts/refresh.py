"""A page about a live run draws itself anew at a calm pace, and only where it has grown."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app.parts.opened import OpenRun, open_run
from profiles.errors import LabError

EVERY_S = 4.0
_FOLLOW = "follow_the_run"
_LOOKED = "refresh_looked_at"


def follow(path: Path, opened: OpenRun) -> None:
    """Look at a run that is not over now and then; rerun the page once it has grown.

    The viewer may hold the page still: a chart that is drawn anew forgets its zoom.
    """
    if opened.profile.status.is_over:
        return
    if st.toggle("Follow the run", value=True, key=_FOLLOW, help="Off: the page holds still."):
        _look(path, opened.stamp)


@st.fragment(run_every=EVERY_S)
def _look(path: Path, drawn: str) -> None:
    if st.session_state.get(_LOOKED) != drawn:
        # The page is being drawn right now. A quick run has grown again already: not yet.
        st.session_state[_LOOKED] = drawn
        return
    try:
        grown = open_run(path).stamp != drawn
    except LabError:
        grown = True
    if grown:
        st.rerun()
