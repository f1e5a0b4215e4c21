"""The lab: configure a run, watch it, change it while it runs."""

from __future__ import annotations

import streamlit as st

from app.components.live import live_view

run = st.query_params.get("run")
if run:
    live_view(run)
