"""`docs/tables.md` from the schema of tables.

python -m tests.reference.tables > docs/tables.md
"""

from __future__ import annotations

import sys

from strategy_profiles.tables.reference import ROWS, type_name
from strategy_profiles.tables.schema import CAUSES, COLUMNS, Column

_HEAD = """# Tables

<!-- Made by `python -m tests.reference.tables`; a test compares. -->

The tables of a run: views for `strategy-lab sql RUN "select ..."` and the SQL box of the page,
files of `strategy-lab export --format parquet` and `csv`, `Profile.table(name)` in Python. A
missing value is null. Times are milliseconds (`_ms`) or integer nanoseconds (`_ns`), sizes bytes,
and bandwidths (`_gbps`) 10^9 bytes per second. Times on different clocks (column `clock`) are never
added.
"""


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


def _with_unit(column: Column) -> str:
    name, unit = type_name(column), column.kind.unit
    return f"{name} ({unit})" if unit else name


if __name__ == "__main__":
    sys.stdout.write(reference())
