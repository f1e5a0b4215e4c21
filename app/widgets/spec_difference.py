"""The differences between the specs of two segments, field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from strategy_lab.app.widgets.comparison_picker import Side
from strategy_lab.app.widgets.copy_as import offer_copy_of_recorded
from strategy_lab.app.widgets.text import plain
from strategy_lab.profiles.tables.store import Profile


def show_spec_difference(a: Side, b: Side) -> None:
    """The fields that differ; all of them on request."""
    left, right = (flat(spec_in_force(side)) for side in (a, b))
    fields = [*left, *(name for name in right if name not in left)]
    # The plan of changes belongs to the run: of its segments, only the first one has it.
    is_one_run = a.opened.profile.path == b.opened.profile.path
    same = {"reconfigure"} if is_one_run else set()
    differ = [name for name in fields if left.get(name) != right.get(name) and name not in same]
    st.header("Differences between the specs")
    if not fields:
        st.markdown("Neither run has a recorded spec.")
        return
    with st.container(horizontal=True):
        for side in (a, b):
            if spec := spec_in_force(side):
                offer_copy_of_recorded(spec, f"Copy {side.name} as …")
    everything = st.toggle(f"Show all {len(fields)} fields", key="spec_all")
    shown = [*differ, *(name for name in fields if name not in differ)] if everything else differ
    if not shown:
        st.markdown("None: both specs are equal.")
        return
    rows = [
        {
            "field": plain(name, 80),
            "A": left.get(name, "–"),
            "B": right.get(name, "–"),
            "differs": name in differ,
        }
        for name in shown
    ]
    table = pd.DataFrame(rows)
    mark = "background-color: rgba(230, 159, 0, 0.18)"
    styled = table.drop(columns="differs").style.apply(
        lambda row: [mark if table["differs"][row.name] else ""] * len(row), axis=1
    )
    st.dataframe(
        styled,
        column_config={"field": st.column_config.TextColumn("Field")},
        hide_index=True,
        key="spec_table",
        height=min(38 + 35 * len(rows), 38 + 35 * 12),
    )


def spec_in_force(side: Side) -> Mapping[str, Any]:
    """The spec of the segment, else the one the run began with."""
    own = side.segment.spec if side.segment else None
    return own or _asked(side.opened.profile)


def _asked(profile: Profile) -> Mapping[str, Any]:
    return profile.spec or {}


def flat(document: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested fields by dotted path, values as text."""
    found: dict[str, str] = {}
    for name, value in document.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            found |= flat(value, f"{path}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            found[path] = plain(text, 200)
    return found
