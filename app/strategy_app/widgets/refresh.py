"""A page about a live run says how many steps are new and updates on request.

Charts lose their zoom on an update and may blink, so that is the viewer's choice: once,
or every few seconds. Only a page that has nothing to show yet, or whose run has ended, does so
by itself.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from strategy_app.server.opened import OpenRun, open_run
from strategy_profiles.errors import LabError
from strategy_profiles.reporting import units

EVERY_S = 4.0
_FOLLOW = "follow_the_run"
_LOOKED = "refresh_looked_at"


def follow(path: Path, opened: OpenRun) -> None:
    """Look at a run that is not over now and then."""
    if not opened.profile.status.is_over:
        _look(path, opened.stamp, _num_steps(opened))


@st.fragment(run_every=EVERY_S)
def _look(path: Path, drawn: str, num_drawn: int) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        following = st.toggle(
            "Follow the run", key=_FOLLOW, help="On: the page is updated every few seconds."
        )
        if st.session_state.get(_LOOKED) != drawn:
            # The page is being drawn right now. A quick run has grown again already: not yet.
            st.session_state[_LOOKED] = drawn
            now = None
        else:
            now = _open(path)
        grown = now is not None and now.stamp != drawn
        num_new = _num_steps(now) - num_drawn if now and grown else 0
        is_pressed = st.button(
            f"Show {units.counted(num_new, 'new step')}" if num_new > 0 else "Up to date",
            key="show_what_is_new",
            disabled=num_new <= 0,
        )
    is_over = now is not None and now.profile.status.is_over
    if grown and (following or is_pressed or is_over or num_drawn == 0):
        st.rerun()


def _open(path: Path) -> OpenRun | None:
    try:
        return open_run(path)
    except LabError:
        return None  # the page says so when it is drawn next


def _num_steps(opened: OpenRun) -> int:
    return int(opened.profile.table("steps").num_rows)
