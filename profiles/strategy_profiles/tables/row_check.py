"""Filter the rows of a table that fit its schema (`schema.COLUMNS`).

Files may come from anywhere, so every value is checked. A valid column needs one pass for its
smallest and largest value; only a column with a value out of range is checked row by row.
"""

from __future__ import annotations

import functools
import zlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from strategy_profiles.tables.columns import distinct, filled, first_of_each
from strategy_profiles.tables.schema import COLUMNS, UNIQUE, Kind

Problem = tuple[str, pa.ChunkedArray]
"""A description of the problem, and a mask of the rows that have it."""


@functools.cache
def rules_of(name: str) -> int:
    """Return a number that changes with the columns, types, ranges and keys of a table.

    What was checked by other rules has to be checked again.
    """
    kinds = [(column.name, str(column.kind)) for column in COLUMNS[name]]
    return zlib.crc32(repr((kinds, UNIQUE.get(name))).encode())


def fitting_rows(name: str, table: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return the rows that fit, and reasons for the others, like `3 rows with wall_ms below 0`.

    The table must have columns of its schema with their types. A row with any value that does not
    fit is left out.
    """
    reasons = []
    for column in COLUMNS[name]:
        if column.name not in table.column_names:
            continue
        while (problem := _problem(column.kind, table[column.name])) is not None:
            what, is_bad = problem
            num_before = table.num_rows
            table = table.filter(pc.invert(is_bad.fill_null(False)))
            reasons.append(f"{_rows(num_before - table.num_rows)} with {column.name} {what}")
    once = _once(name, table)
    if once.num_rows < table.num_rows:
        reasons.append(f"{_rows(table.num_rows - once.num_rows)} that are there already")
    return once, reasons


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _problem(kind: Kind, values: pa.ChunkedArray) -> Problem | None:
    if kind.is_required and values.null_count:
        return "missing", values.is_null()
    if pa.types.is_dictionary(kind.type) or pa.types.is_string(kind.type):
        return _long_text(values, kind.highest)
    return None if pa.types.is_boolean(kind.type) else _out_of_range(kind, values)


def _out_of_range(kind: Kind, values: pa.ChunkedArray) -> Problem | None:
    if pa.types.is_floating(kind.type):
        is_finite = pc.is_finite(values)
        if pc.all(is_finite).as_py() is False:
            return "not finite", pc.invert(is_finite)
    ends = pc.min_max(values).as_py()
    if kind.lowest is not None and ends["min"] is not None and ends["min"] < kind.lowest:
        return f"below {kind.lowest:,}", pc.less(values, pa.scalar(kind.lowest, values.type))
    if kind.highest is not None and ends["max"] is not None and ends["max"] > kind.highest:
        return f"above {kind.highest:,}", pc.greater(values, pa.scalar(kind.highest, values.type))
    return None


def _long_text(values: pa.ChunkedArray, most: float | None) -> Problem | None:
    texts = values.chunks
    if pa.types.is_dictionary(values.type):
        # All chunks then share one dictionary.
        texts = [chunk.dictionary for chunk in values.unify_dictionaries().chunks[:1]]
    longest = max((pc.max(pc.binary_length(text)).as_py() or 0 for text in texts), default=0)
    if most is None or longest <= most:
        return None
    is_long = pc.greater(pc.binary_length(values.cast(pa.string())), most)
    # A dictionary may hold a text that no row uses.
    return (f"longer than {most:,.0f} bytes", is_long) if pc.any(is_long).as_py() else None


def _once(name: str, table: pa.Table) -> pa.Table:
    """Return the first row of each key (`schema.UNIQUE`), in the order of the table."""
    if not set(UNIQUE.get(name, ("",))) <= set(table.column_names) or table.num_rows < 2:
        return table
    numbers = np.zeros(table.num_rows, np.int64)
    for key in UNIQUE[name]:
        _, place = distinct(_codes(table[key]))
        _, numbers = distinct(numbers * (int(place.max()) + 1) + place)
    first = first_of_each(numbers)
    return table if len(first) == table.num_rows else table.take(pa.array(np.sort(first)))


def _codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return integers that are equal if and only if the values are; -1 for a missing value."""
    if pa.types.is_dictionary(column.type):
        whole = column.unify_dictionaries()
        column = pa.chunked_array([chunk.indices for chunk in whole.chunks], pa.int32())
    codes: npt.NDArray[np.int64] = filled(column.cast(pa.int64()), -1).to_numpy()
    return codes
