"""`docs/tables.md` from the schema of tables.

python -m strategy_profiles.tables.reference > docs/tables.md
"""

from __future__ import annotations

import sys

import pyarrow as pa

from strategy_profiles.tables.schema import CAUSES, COLUMNS, Column

_HEAD = """# Tables

<!-- Made by `python -m strategy_profiles.tables.reference`; a test compares. -->

The tables of a run: views for `strategy-lab sql RUN "select ..."` and the SQL box of the page,
files of `strategy-lab export --format parquet` and `csv`, `Profile.table(name)` in Python. A
missing value is null. Times are milliseconds (`_ms`) or integer nanoseconds (`_ns`), sizes bytes,
and bandwidths (`_gbps`) 10^9 bytes per second. Times on different clocks (column `clock`) are never
added.
"""
_TYPES = {
    pa.int32(): "integer",
    pa.int64(): "integer",
    pa.float64(): "number",
    pa.bool_(): "boolean",
}

ROWS = {
    "segments": "configuration in force",
    "steps": "step",
    "marks": "step and replica, on every step that has timestamps inside the graph",
    "replica_steps": "captured step and replica",
    "core_steps": "captured step, replica and logical core, under a TPU's strategy",
    "collectives": "captured step, collective and rank",
    "transfers": "captured step and tensor that was sent from one device to another",
    "causes": "captured step and what held it up, as far as a capture can name it",
    "input_stages": "captured step and stage of tf.data that delivered an element in it",
    "tensors": "tensor of a capture's last step that is held on a device",
    "placement": "op or variable of a segment",
    "spans": "op event of a capture",
    "contexts": "context entered, or call that crosses one",
    "closures": "step of parameter servers' workers, as the worker that did it timed it",
    "served": "variable on a parameter server, or part of one",
    "memory": "sample of a device or process",
    "account": "row of the account of a segment's time",
    "resources": "sample of the CPUs and process of the run",
    "links": "reading of the bytes that two processes exchanged so far",
}
"""What a row of each table is."""


def reference() -> str:
    """The page."""
    causes = ["## Kinds of causes", "", "| kind | |", "| --- | --- |"]
    causes += [f"| `{kind}` | {text} |" for kind, text in CAUSES.items()]
    parts = [_section(name, columns) for name, columns in COLUMNS.items()]
    return "\n".join([_HEAD, *parts, *causes, ""])


def _section(name: str, columns: tuple[Column, ...]) -> str:
    rows = [
        f"| `{column.name}` | {_with_unit(column)} | {'' if column.kind.is_required else 'yes'} | "
        f"{column.about.replace('|', '/')} |"
        for column in columns
    ]
    head = ["| column | type | may be null | |", "| --- | --- | --- | --- |"]
    return "\n".join([f"## `{name}`", "", f"One row per {ROWS[name]}.", "", *head, *rows, ""])


def type_name(column: Column) -> str:
    """The type of a column as a reader thinks of it: integer, number, boolean or text."""
    return _TYPES.get(column.kind.type, "text")


def _with_unit(column: Column) -> str:
    name, unit = type_name(column), column.kind.unit
    return f"{name} ({unit})" if unit else name


if __name__ == "__main__":
    sys.stdout.write(reference())
