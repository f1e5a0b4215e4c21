"""The device map of a segment, and its variables with every copy."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from strategy_lab.app.charts.placement import ops_by_type, variable_bytes
from strategy_lab.app.widgets.bars import show_bars
from strategy_lab.app.widgets.text import as_markdown, plain
from strategy_lab.profiles.analysis.placement import UNPLACED, Placement, VariablePlacement
from strategy_lab.profiles.reporting.device_names import short_names
from strategy_lab.profiles.tables.columns import of_segment, texts
from strategy_lab.profiles.tables.store import Profile

MAX_VARIABLES = 5_000


def op_types(profile: Profile, segment: int) -> dict[str, Counter[str]]:
    """How often each op type occurs on each device."""
    rows = of_segment(profile.table("placement"), segment)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    columns = (texts(rows, name) for name in ("kind", "op", "device"))
    for kind, op, device in zip(*columns, strict=True):
        if kind != "variable":
            found[device or UNPLACED][op or "unknown"] += 1
    return dict(found)


def show_device_map(
    placed: Placement, types: Mapping[str, Counter[str]], no_variables: str
) -> None:
    """Two bars per device: what it runs, and what it holds; or why the latter is not known."""
    names = [item.device for item in placed.devices]
    short = short_names(names)
    shown = [short[name] for name in names]
    left, right = st.columns(2)
    with left:
        st.header("Ops on each device")
        chart = ops_by_type(shown, [types.get(name, Counter()) for name in names])
        show_bars(chart, key="placement_ops", alt="Ops per device by type")
    with right:
        st.header("Variables on each device")
        parts = _bytes_by_kind(placed, names)
        if not parts:
            st.markdown(as_markdown(f"{no_variables[0].upper()}{no_variables[1:]}."))
        else:
            chart = variable_bytes(shown, parts)
            show_bars(chart, key="placement_bytes", alt="Bytes of variables per device")


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


def _bytes_by_kind(placed: Placement, devices: list[str]) -> dict[str, list[float]]:
    place = {device: number for number, device in enumerate(devices)}
    parts: dict[str, list[float]] = {}
    for item in placed.variables:
        of_kind = parts.setdefault(item.kind, [0.0] * len(devices))
        for device in item.devices:
            of_kind[place[device]] += item.bytes_per_copy or 0.0
    return parts
