"""The columns that a query reads of a run's tables, by DuckDB's own plan of it.

A large table is then read without its other columns. These stay in the table as nulls, because a
query may name a column that its plan does not read: `select op from (select op, name from spans)`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from strategy_profiles.tables.columns import nulls
from strategy_profiles.tables.schema import TABLES, WINDOW_TABLES

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

_SCAN = "ARROW_SCAN"


def planned_columns(connection: duckdb.DuckDBPyConnection, query: str) -> set[str] | None:
    """Return the columns that the plan reads of any table; None if the plan does not say."""
    if connection.extract_statements(query)[0].type != duckdb.StatementType.SELECT:
        return None
    (_, text), *_ = connection.execute(f"explain (format json) {query}").fetchall()
    try:
        scans = [scan for plan in json.loads(text) for scan in _scans(plan)]
        found: set[str] = set()
        for scan in scans:
            columns = scan["extra_info"]["Projections"]
            found.update([columns] if isinstance(columns, str) else columns)
    except (ValueError, KeyError, TypeError):  # a version of DuckDB that describes plans otherwise
        return None
    return found or None


def _scans(plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the plan's parts that read a table."""
    own = [plan] if _SCAN in plan["name"] else []
    return own + [scan for child in plan["children"] for scan in _scans(child)]


def with_columns(profile: Profile, name: str, columns: Collection[str]) -> pa.Table:
    """Return a table with values in these columns; the others of a window's table are null."""
    wanted = [column for column in TABLES[name].names if column in columns]
    if name not in WINDOW_TABLES or not wanted:
        return profile.table(name)
    found = profile.columns(name, wanted)
    chunks = [len(chunk) for chunk in found.column(0).chunks]
    return pa.table(
        [
            found[field.name] if field.name in wanted else _nulls(field.type, chunks)
            for field in TABLES[name]
        ],
        schema=TABLES[name],
    )


def _nulls(kind: pa.DataType, chunks: list[int]) -> pa.ChunkedArray:
    """Return nulls in chunks that share their memory."""
    longest = nulls(max(chunks, default=0), kind)
    return pa.chunked_array([longest.slice(0, length) for length in chunks], kind)
