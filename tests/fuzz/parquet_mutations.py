"""Changes to a Parquet file, made on its columns: types, values, rows, names."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from strategy_profiles.tables.parquet_file import can_become
from strategy_profiles.tables.schema import UNIQUE
from tests.fuzz.mutation import Mutation

_MOST_ROWS_IN_GROUPS = 10_000
"""More take minutes to write in groups of one row."""
_MOST_ROWS_TO_CHANGE = 1_000_000
"""More, from an earlier change of the case, take a minute to change by row: columns are renamed."""
_Changed = tuple[pa.Table, str, bool]
NUMBERS = (0, 1, -1, 7, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, -(2**63))
FLOATS = (0.0, -1.0, -0.0, 1e308, -1e308, 1e18, 5e-324, np.nan, np.inf, -np.inf)
TEXTS = ("", "x", "\u202e\n\x00", "x" * 5000, "/job:worker/task:9" + "9" * 5000, "all-reduce")


def mutate_parquet(file: Path, rng: random.Random, has_checksums: bool) -> Mutation:
    """Change one thing in a Parquet file, and rewrite the file.

    `has_checksums` is whether the run's events have its checksum: any change is then detectable.
    """
    table = pq.read_table(file)
    how: Callable[[pa.Table, random.Random], _Changed] = rng.choice(_HOWS)
    if table.num_rows > _MOST_ROWS_TO_CHANGE:
        how = _renamed
    changed, said, is_detectable = how(table, rng)
    if how in (_fewer, _more):
        name = file.stem.partition("-")[0]
        # The number of rows is in the event; equal rows of the others do not occur.
        is_detectable = name in ("spans", "placement") or (how is _more and name in UNIQUE)
    options: dict[str, Any] = {"compression": rng.choice(("snappy", "zstd", "none"))}
    if rng.random() < 0.2 and changed.num_rows < _MOST_ROWS_IN_GROUPS:
        options["row_group_size"] = rng.choice((1, 7, 100))
    file.unlink()
    pq.write_table(changed, file, use_dictionary=rng.random() < 0.8, **options)
    return Mutation(f"{file.parent.name}/{file.name}: {said}", is_detectable or has_checksums)


def _column(table: pa.Table, rng: random.Random) -> int:
    return rng.randrange(table.num_columns)


def _dropped(table: pa.Table, rng: random.Random) -> _Changed:
    index = _column(table, rng)
    return table.remove_column(index), f"column {table.column_names[index]} dropped", True


def _renamed(table: pa.Table, rng: random.Random) -> _Changed:
    index = _column(table, rng)
    names = list(table.column_names)
    names[index] = rng.choice(("x", "", names[index].upper(), names[_column(table, rng)]))
    said = f"column {table.column_names[index]} renamed {names[index]!r}"
    return table.rename_columns(names), said, names != table.column_names


def _twice(table: pa.Table, rng: random.Random) -> _Changed:
    name = table.column_names[_column(table, rng)]
    return table.append_column(name, table[name]), f"column {name} twice", True


def _retyped(table: pa.Table, rng: random.Random) -> _Changed:
    index = _column(table, rng)
    rows = table.num_rows
    made = {
        "text": pa.array(["x"] * rows, pa.string()),
        "numbers as text": pa.array(["1"] * rows, pa.string()),
        "lists": pa.array([[1, 2]] * rows, pa.list_(pa.int64())),
        "structs": pa.array([{"a": 1}] * rows, pa.struct([("a", pa.int64())])),
        "bytes": pa.array([b"\xff\xfe"] * rows, pa.binary()),
        "booleans": pa.array([True] * rows, pa.bool_()),
        "times": pa.array([10**18] * rows, pa.timestamp("ns")),
        "decimals": pa.array([1] * rows, pa.decimal128(38, 0)),
        "fractions": pa.array([0.5] * rows, pa.float64()),
        "wide numbers": pa.array([2**62] * rows, pa.int64()),
        "unsigned numbers": pa.array([2**64 - 1] * rows, pa.uint64()),
        "nothing": pa.nulls(rows, pa.null()),
        "maps": pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
        "dictionary of numbers": pa.array([-5] * rows).dictionary_encode(),
    }
    what = rng.choice(list(made))
    name = table.column_names[index]
    is_other = not can_become(made[what].type, table.schema.field(index).type)
    return table.set_column(index, name, made[what]), f"column {name} as {what}", is_other


def _not_utf8(table: pa.Table, rng: random.Random) -> _Changed:
    texts = [n for n in table.column_names if _is_text(table.schema.field(n).type)]
    if not texts:
        return _dropped(table, rng)
    name = rng.choice(texts)
    raw = pa.array([b"\xff\xfe\x80"] * table.num_rows, pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(raw), raw.buffers())
    at = table.column_names.index(name)
    return table.set_column(at, name, text), f"column {name} not UTF-8", True


def _valued(table: pa.Table, rng: random.Random) -> _Changed:
    """One cell, or a whole column, with another value of the type."""
    if not table.num_rows:
        return _dropped(table, rng)
    index = _column(table, rng)
    name, column = table.column_names[index], table.column(index)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    value: Any
    if pa.types.is_integer(kind):
        value = rng.choice([n for n in NUMBERS if kind == pa.int64() or -(2**31) <= n < 2**31])
    elif pa.types.is_floating(kind):
        value = rng.choice(FLOATS)
    elif pa.types.is_boolean(kind):
        value = rng.random() < 0.5
    else:
        value = rng.choice(TEXTS)
    value = None if rng.random() < 0.15 else value
    values = column.to_pylist()
    whole = rng.random() < 0.3
    rows = range(len(values)) if whole else [rng.randrange(len(values))]
    for row in rows:
        values[row] = value
    is_wrong = isinstance(value, int | float) and not isinstance(value, bool) and value < 0
    said = f"column {name}: {'every row' if whole else 'one row'} {str(value)[:40]!r}"
    return (
        table.set_column(index, name, pa.array(values, kind)),
        said,
        is_wrong and name != "replica",
    )


def _fewer(table: pa.Table, rng: random.Random) -> _Changed:
    if rng.random() < 0.3:
        return table.slice(0, 0), "no rows", True
    kept = sorted(rng.sample(range(table.num_rows), rng.randint(0, table.num_rows)))
    return table.take(pa.array(kept, pa.int64())), f"{len(kept)} of {table.num_rows} rows", True


def _more(table: pa.Table, rng: random.Random) -> _Changed:
    times = rng.choice((2, 3))
    return pa.concat_tables([table] * times), f"rows {times} times", True


def _enormous(table: pa.Table, rng: random.Random) -> _Changed:
    """Equal rows without number: some hundred kilobytes on disk, gigabytes in memory."""
    if not table.num_rows:
        return _dropped(table, rng)
    times = rng.choice((30, 120))
    one = table.slice(rng.randrange(table.num_rows), 1)
    # The same hundred thousand rows each time: the fuzzer itself must stay small.
    part = one.take(pa.array(np.zeros(100_000, np.int8)))
    return pa.concat_tables([part] * times), f"{times * 100_000:,} equal rows", True


def _shuffled(table: pa.Table, rng: random.Random) -> _Changed:
    order = list(range(table.num_rows))
    rng.shuffle(order)
    return table.take(pa.array(order, pa.int64())), "rows shuffled", True


def _foreign_column(table: pa.Table, _rng: random.Random) -> _Changed:
    extra = pa.array([[{"a": [1]}]] * table.num_rows)
    return table.append_column("extra", extra), "a column that is not known", False


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind))


_HOWS = (
    *([_dropped, _renamed, _twice, _not_utf8, _foreign_column] * 6),
    *([_retyped, _valued] * 18),
    *([_fewer, _more, _shuffled] * 5),
    _enormous,
)
