"""A page about a live run draws itself anew at a calm pace, and only where it has grown."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app.parts.opened import OpenRun, open_run
from profiles.errors import LabError

EVERY_S = 4.0


def follow(path: Path, opened: OpenRun) -> None:
    """Look at a run that is not over now and then; rerun the page once it has grown."""
    if not opened.profile.status.is_over:
        _look(path, opened.stamp)


@st.fragment(run_every=EVERY_S)
def _look(path: Path, drawn: str) -> None:
    try:
        grown = open_run(path).stamp != drawn
    except LabError:
        grown = True
    if grown:
        st.rerun()
