"""The summary and every table as one JSON file.

    {"schema_version": 1, "summary": {...}, "tables": {"steps": {"step": [...], ...}, ...}}

Tables are objects of columns, for `pandas.DataFrame(document["tables"]["steps"])`. A missing value
is null. So is NaN, which JSON cannot represent.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from strategy_profiles.analysis.summary import summarize
from strategy_profiles.exports.format import Format
from strategy_profiles.tables.schema import SCHEMA_VERSION, TABLES
from strategy_profiles.tables.store import Profile


def _write(profile: Profile, path: Path) -> None:
    summary = json.dumps(summarize(profile), allow_nan=False)
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"schema_version": {SCHEMA_VERSION},\n"summary": {summary},\n"tables": {{\n')
        for number, name in enumerate(TABLES):
            file.write(",\n" if number else "")
            columns = _columns(profile.table(name))
            file.write(f"{json.dumps(name)}: {json.dumps(columns, allow_nan=False)}")
        file.write("\n}}\n")


def _columns(table: pa.Table) -> dict[str, list[Any]]:
    return {name: _finite(table[name]).to_pylist() for name in table.column_names}


def _finite(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with NaN and infinities as null."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))


FORMAT = Format(
    name="json",
    title="JSON",
    description="The summary and every table in one file: for programs.",
    suffix=".json",
    media_type="application/json",
    write=_write,
)
