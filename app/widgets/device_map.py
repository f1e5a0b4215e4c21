"""The device map of a segment, and its variables with every copy."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from strategy_lab.app.widgets.text import as_markdown, plain
from strategy_lab.profiles.analysis.placement import Placement, VariablePlacement
from strategy_lab.profiles.reporting.device_names import short_names

MAX_VARIABLES = 5_000


def show_device_map(placed: Placement, no_variables: str) -> None:
    """One row per device: what it runs, and what it holds; or why the latter is not known."""
    st.header("Each device")
    short = short_names(item.device for item in placed.devices)
    has_variables = bool(placed.variables)
    rows = [
        {
            "device": plain(short[item.device]),
            "ops": item.num_ops,
            "types": [plain(f"{op} {count:,}", 60) for op, count in item.top_ops],
            "variables": item.num_variables if has_variables else None,
            "bytes": item.variable_bytes if has_variables else None,
        }
        for item in placed.devices
    ]
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows),
        column_config={
            "device": column.TextColumn("Device", width=150),
            "ops": column.NumberColumn("Ops", width=70, format="localized"),
            "types": column.ListColumn("Commonest op types", width="large"),
            "variables": column.NumberColumn("Variables", width=90, format="localized"),
            "bytes": column.NumberColumn("Bytes of variables", width=130, format="localized"),
        },
        hide_index=True,
        placeholder="–",
        key="placement_devices",
        height=min(38 + 35 * max(len(rows), 1), 38 + 35 * 8),
    )
    if not has_variables:
        st.caption(as_markdown(f"{no_variables[0].upper()}{no_variables[1:]}."))


def show_variables(placed: Placement) -> None:
    """One row per variable: all its copies are linked in it."""
    st.header(
        "Variables",
        help="A mirrored variable has one copy on every replica's device, and every update "
        "keeps the copies equal. A SyncOnRead variable is summed or averaged when it is read.",
    )
    short = short_names(device for item in placed.variables for device in item.devices)
    rows = [
        {
            "variable": plain(item.name, 200),
            "kind": plain(item.kind, 60),
            "bytes": item.bytes_per_copy,
            "copies": len(item.devices),
            "devices": [short[device] for device in item.devices],
        }
        for item in sorted(placed.variables, key=_by_size)[:MAX_VARIABLES]
    ]
    column = st.column_config
    st.dataframe(
        pd.DataFrame(rows, columns=["variable", "kind", "bytes", "copies", "devices"]),
        column_config={
            "variable": column.TextColumn("Variable", width=300),
            "kind": column.TextColumn("Kind", width=150),
            "bytes": column.NumberColumn("Bytes of a copy", width=110, format="localized"),
            "copies": column.NumberColumn("Copies", width="small"),
            "devices": column.ListColumn("Sits on", width="medium"),
        },
        hide_index=True,
        placeholder="–",
        key="placement_variables",
        height=min(38 + 35 * max(len(rows), 1), 38 + 35 * 8),
    )


def _by_size(item: VariablePlacement) -> tuple[float, str]:
    """Largest first: a model's weights before its counters."""
    return -(item.bytes_per_copy or 0.0), item.name
