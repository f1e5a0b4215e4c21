"""Every op and variable with its device: searched and filtered on the server, sent as looked at."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import streamlit as st

from strategy_app.server.first_style import grid_px
from strategy_app.widgets.html_table import MOST_ROWS
from strategy_app.widgets.table import phone_list
from strategy_app.widgets.text import plain
from strategy_profiles.reporting.device_names import in_order, short_names
from strategy_profiles.reporting.glossary import TERMS
from strategy_profiles.tables.columns import of_segment
from strategy_profiles.tables.store import Profile

SHOWN = ("kind", "name", "op", "device", "replica", "bytes", "dtype", "function", "source_line")
LISTED = ("name", "op", "device", "replica", "bytes")
"""On a phone."""
SHOWN_ROWS = 11
ANY = "any"
COLUMNS = {
    "kind": st.column_config.TextColumn("Kind", width="small"),
    "name": st.column_config.TextColumn("Name", width=300),
    "op": st.column_config.TextColumn("Op type", width=130),
    "device": st.column_config.TextColumn("Device", width=160),
    "replica": st.column_config.NumberColumn(
        "Replica", width="small", help="Empty: shared by all replicas."
    ),
    "bytes": st.column_config.NumberColumn("Bytes", width="small", format="localized"),
    "dtype": st.column_config.TextColumn("Element type", width="small"),
    "function": st.column_config.TextColumn("Function", width="small"),
    "source_line": st.column_config.TextColumn("Made in", width=200),
}


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
    ops = _with_short_devices(selected.select(list(SHOWN)), short)
    listed = ops.select(list(LISTED)).slice(0, MOST_ROWS).to_pydict()
    more = ". Search for a name, or choose a device or type."
    container = phone_list(
        "ops_table", listed, COLUMNS, shown_rows=SHOWN_ROWS, more=more, num_rows=ops.num_rows
    )
    container.dataframe(
        ops,
        column_config=COLUMNS,
        hide_index=True,
        lazy=True,
        placeholder="",
        key="ops_table",
        height=grid_px(SHOWN_ROWS),
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


def _with_short_devices(rows: pa.Table, short: dict[str, str]) -> pa.Table:
    devices = rows["device"].combine_chunks().dictionary_encode()
    names = pa.array([short[name] for name in devices.dictionary.to_pylist()], pa.string())
    column = pa.DictionaryArray.from_arrays(devices.indices, names).cast(pa.string())
    return rows.set_column(rows.schema.get_field_index("device"), "device", column)
