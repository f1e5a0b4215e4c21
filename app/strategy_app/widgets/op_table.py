"""Every op and variable with its device: searched and filtered on the server, sent as looked at."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st

from strategy_app.server.first_style import grid_px
from strategy_app.widgets.html_table import MOST_ROWS
from strategy_app.widgets.table import PAGE_PX, WRAPPED_PX, fitted_px, letters_in, phone_list
from strategy_app.widgets.text import plain
from strategy_profiles.reporting.device_names import in_order, short_names
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.run.tensorflow_names import FUNCTION_ENDS
from strategy_profiles.tables.columns import of_segment
from strategy_profiles.tables.store import Profile

SHOWN = ("kind", "name", "op", "device", "replica", "bytes", "dtype", "function", "source_line")
LISTED = ("name", "op", "device", "replica", "bytes")
"""On a phone."""
SHOWN_ROWS = 11
ANY = "any"
LEAST_PX = {"kind": 70, "op": 100, "device": 80, "dtype": 98, "function": 75, "source_line": 80}
LEAST_NAME_PX, NUMBERS_PX = 130, 160
"""Widths of columns with words, of names, and of those with numbers together."""


def show_op_table(profile: Profile, segment: int) -> None:
    """Search box, filters, and the rows that fit; tens of thousands stay quick."""
    st.header("Every op and variable", help=TERMS["placement"])
    rows = of_segment(profile.table("placement"), segment)
    devices = in_order(str(name) for name in pc.unique(rows["device"]).drop_null().to_pylist())
    short = short_names(devices)
    types = sorted(str(name) for name in pc.unique(rows["op"]).drop_null().to_pylist())
    words, where, what, kind = st.columns([3, 2, 2, 2])
    search = words.text_input("Search names", key="ops_search", placeholder="e.g. conv2d/kernel")
    on = where.multiselect(
        "Device", devices, format_func=lambda name: plain(short[name]), key="ops_devices"
    )
    of_type = what.multiselect("Op type", types, format_func=plain, key="ops_types")
    only = kind.selectbox("Kind", (ANY, "op", "variable"), key="ops_kind")
    selected = select(rows, search, on, of_type, None if only in (None, ANY) else only)
    st.caption(f"{selected.num_rows:,} of {rows.num_rows:,} rows")
    # They have neither bytes nor a line: they come last.
    is_end = pc.is_in(selected["op"], value_set=pa.array(sorted(FUNCTION_ENDS)))
    selected = selected.take(pc.sort_indices(is_end.cast(pa.int8())))
    ops = _with_short_names(selected.select(list(SHOWN)), short)
    columns = _columns(ops)
    longest = pc.max(pc.utf8_length(ops["name"])).as_py() or 0
    is_cut = longest > letters_in(columns["name"]["width"])
    listed = ops.select(list(LISTED)).slice(0, MOST_ROWS).to_pydict()
    more = ". Search for a name, or choose a device or type."
    container = phone_list(
        "ops_table", listed, columns, shown_rows=SHOWN_ROWS, more=more, num_rows=ops.num_rows
    )
    container.dataframe(
        ops,
        column_config=columns,
        column_order=[name for name in SHOWN if ops[name].null_count < ops.num_rows],
        hide_index=True,
        lazy=True,
        placeholder="",
        key="ops_table",
        height=grid_px(SHOWN_ROWS),
        row_height=WRAPPED_PX if is_cut else None,
    )


def select(
    rows: pa.Table, search: str, devices: list[str], types: list[str], kind: str | None
) -> pa.Table:
    """The rows whose name holds every word of `search`, on any of the devices, of any type."""
    for word in search.split():
        rows = rows.filter(pc.match_substring(rows["name"], word, ignore_case=True))
    if devices:
        rows = rows.filter(pc.is_in(rows["device"], value_set=pa.array(devices)))
    if types:
        rows = rows.filter(pc.is_in(rows["op"], value_set=pa.array(types)))
    if kind:
        rows = rows.filter(pc.equal(rows["kind"], kind))
    return rows


def _columns(ops: pa.Table) -> dict[str, Any]:
    """Words are in sight as a whole; the names of ops have what is left of the page."""
    longest = {name: pc.max(pc.utf8_length(ops[name])).as_py() or 0 for name in LEAST_PX}
    px = {name: max(least, fitted_px(longest[name])) for name, least in LEAST_PX.items()}
    left_px = max(PAGE_PX - NUMBERS_PX - sum(px.values()), LEAST_NAME_PX)
    return {
        "kind": st.column_config.TextColumn("Kind", width=px["kind"]),
        "name": st.column_config.TextColumn("Name", width=left_px),
        "op": st.column_config.TextColumn("Op type", width=px["op"]),
        "device": st.column_config.TextColumn("Device", width=px["device"]),
        "replica": st.column_config.NumberColumn(
            "Replica", width=70, help="Empty: shared by all replicas."
        ),
        "bytes": st.column_config.NumberColumn("Bytes", width=90, format="localized"),
        "dtype": st.column_config.TextColumn("Element type", width=px["dtype"]),
        "function": st.column_config.TextColumn("Function", width=px["function"]),
        "source_line": st.column_config.TextColumn("Made in", width=px["source_line"]),
    }


def _with_short_names(rows: pa.Table, short: dict[str, str]) -> pa.Table:
    """Devices by their short names, and files without the folders before them."""
    devices = rows["device"].combine_chunks().dictionary_encode()
    names = pa.array([short[name] for name in devices.dictionary.to_pylist()], pa.string())
    column = pa.DictionaryArray.from_arrays(devices.indices, names).cast(pa.string())
    rows = rows.set_column(rows.schema.get_field_index("device"), "device", column)
    lines = pc.replace_substring_regex(rows["source_line"], "^.*/", "")
    return rows.set_column(rows.schema.get_field_index("source_line"), "source_line", lines)
