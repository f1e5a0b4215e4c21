"""The lab: configure a run, watch it, change it while it runs. `?run=NAME` is a link to a run."""

from __future__ import annotations

import streamlit as st

from strategy_app.control.watch import watch_page
from strategy_app.forms.configure import CONFIGURING, configure_page
from strategy_app.server import state
from strategy_app.widgets.picker import LAST_RUN

requested_run = st.query_params.get("run")
if requested_run is None and not st.session_state.get(CONFIGURING):
    # A second browser, or a way back from another page: show what runs, else what was looked at.
    requested_run = state.lab().active_run() or st.session_state.get(LAST_RUN)
    if requested_run is not None:
        st.query_params["run"] = requested_run

if requested_run is None:
    with st.container(key="form"):
        configure_page()
else:
    # In the form's place: all of it goes at once, before anything of the run is drawn.
    st.empty()
    # Opens the sidebar before the run is read: the page moves while it is still empty.
    st.sidebar.html("<div></div>")
    st.session_state[LAST_RUN] = requested_run
    st.session_state.pop(CONFIGURING, None)
    watch_page(requested_run)
