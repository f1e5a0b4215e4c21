"""The differences between the specs of two segments, and each spec to copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from strategy_app.screen.answer import show_parts
from strategy_app.widgets.comparison_picker import Side
from strategy_app.widgets.copy_as import offer_copy_of_recorded
from strategy_profiles.questions.comparison import spec_fields


def show_spec_difference(a: Side, b: Side) -> None:
    """The fields that differ; all of them on request."""
    one, other = spec_in_force(a), spec_in_force(b)
    is_one_run = a.opened.profile.path == b.opened.profile.path
    has_all = bool(one and other) and st.session_state.get("spec_all", False)
    show_parts((spec_fields(one, other, is_one_run=is_one_run, has_all=has_all),))
    with st.container(horizontal=True):
        if one and other:
            st.toggle("Show all fields", key="spec_all")
        for side, spec in ((a, one), (b, other)):
            if spec:
                offer_copy_of_recorded(spec, f"Copy {side.name} as …")


def spec_in_force(side: Side) -> Mapping[str, Any]:
    """The spec of the segment, else the one the run began with."""
    own = side.segment.spec if side.segment else None
    return own or side.opened.profile.spec or {}
