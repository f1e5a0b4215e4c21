"""TensorFlow, GPUs, limits and optional packages, each with what its lack costs."""

from __future__ import annotations

import streamlit as st

from strategy_app.server import state
from strategy_app.widgets.places import show_head
from strategy_app.widgets.table import show_table, text
from strategy_doctor.check import Check
from strategy_doctor.report import examine

_CHECKS = "installation_checks"


def show_page() -> None:
    """Draw the page; a viewer asks for the checks, as they take seconds."""
    show_head("doctor")
    if st.button("Check this installation", key="check_installation"):
        with st.spinner("Importing TensorFlow in a process of its own …"):
            st.session_state[_CHECKS] = list(examine(state.lab().runs))
    checks: list[Check] | None = st.session_state.get(_CHECKS)
    if checks is None:
        st.caption("The same as `strategy-lab doctor`. It takes some seconds.")
        return
    show_table(
        "installation",
        sorted(checks, key=lambda check: ("broken", "missing", "ok").index(check.state)),
        {
            "title": text("What", lambda check: check.title),
            "state": text("State", lambda check: check.state),
            "found": text("Found", lambda check: check.found, width="large"),
            "costs": text("Does not work without it", lambda check: check.costs),
            "advice": text("What to do", lambda check: check.advice, width="large"),
        },
    )
