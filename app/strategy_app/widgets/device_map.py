"""The device map of a segment, and its variables with every copy."""

from __future__ import annotations

import streamlit as st

from strategy_app.widgets.table import number, show_table, text, texts
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.analysis.placement import Placement, VariablePlacement
from strategy_profiles.reporting.device_names import folded, short_names
from strategy_profiles.reporting.thread_pools import thread_pools
from strategy_profiles.run.event_parts import Threads

MAX_VARIABLES = 5_000


def show_device_map(placed: Placement, no_variables: str, threads: Threads | None) -> None:
    """One row per device: what it runs, and what it holds; or why the latter is not known."""
    st.header("Each device")
    short = short_names(item.device for item in placed.devices)
    has_variables = bool(placed.variables)
    show_table(
        "placement_devices",
        placed.devices,
        {
            "device": text("Device", lambda item: plain(short[item.device]), width=150),
            "ops": number("Ops", lambda item: item.num_ops, width=70, format="localized"),
            "types": texts(
                "Commonest op types",
                lambda item: [plain(f"{op} {count:,}", 60) for op, count in item.top_ops],
                width=540,  # at 1920 pixels no chip is cut
            ),
            "variables": number(
                "Variables",
                lambda item: item.num_variables if has_variables else None,
                width=90,
                format="localized",
            ),
            "bytes": number(
                "Bytes of variables",
                lambda item: item.variable_bytes if has_variables else None,
                width=130,
                format="localized",
            ),
        },
        most_rows=17,  # the host and the devices of 16 replicas
    )
    if not has_variables:
        st.caption(as_markdown(f"{no_variables[0].upper()}{no_variables[1:]}."))
    pools = [f"{label}: {size}." for label, size in thread_pools(threads) if size is not None]
    if pools:
        st.caption(as_markdown(" ".join(pools)))


def show_variables(placed: Placement) -> None:
    """One row per variable: all its copies are linked in it."""
    st.header(
        "Variables",
        help="A mirrored variable has one copy on every replica's device, and every update "
        "keeps the copies equal. A SyncOnRead variable is summed or averaged when it is read.",
    )
    short = short_names(device for item in placed.variables for device in item.devices)
    show_table(
        "placement_variables",
        sorted(placed.variables, key=_by_size)[:MAX_VARIABLES],
        {
            "variable": text("Variable", lambda item: plain(item.name, 200), width=300),
            "kind": text("Kind", lambda item: plain(item.kind, 60), width=150),
            "bytes": number(
                "Bytes of a copy", lambda item: item.bytes_per_copy, width=110, format="localized"
            ),
            "copies": number("Copies", lambda item: len(item.devices), width="small"),
            "devices": texts(
                "Devices", lambda item: folded(short[name] for name in item.devices), width="medium"
            ),
        },
        most_rows=8,
    )


def _by_size(item: VariablePlacement) -> tuple[float, str]:
    """Largest first: a model's weights before its counters."""
    return -(item.bytes_per_copy or 0.0), item.name
