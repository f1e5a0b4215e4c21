"""`strategy-lab sql`: DuckDB SQL over the tables of a run."""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strategy_core.cli._plain import plain
from strategy_profiles.reporting import units
from strategy_profiles.reporting.formulas import as_cell
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.sql_process import ask_folder

if TYPE_CHECKING:
    import pyarrow as pa

HELP = "query a run's tables with SQL (DuckDB)"
ONLY_READS = True
MAX_SHOWN = 1000
_BATCH_ROWS = 10_000
Row = dict[str, object]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", help="its folder")
    parser.add_argument("query", metavar="SQL", help=f"over the tables {', '.join(TABLES)}")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object per row, one per line")
    form.add_argument("--csv", action="store_true", help="CSV with a header line")


def run(args: argparse.Namespace) -> int:
    answer = ask_folder(Path(args.run_folder), args.query)
    if args.json:
        for row in _rows(answer):
            print(json.dumps(_finite(row), default=str, allow_nan=False))
    elif args.csv:
        writer = csv.writer(sys.stdout)
        writer.writerow(answer.column_names)
        writer.writerows(map(as_cell, row.values()) for row in _rows(answer))
    else:
        _print_table(answer)
    return 0


def _rows(answer: pa.Table) -> Iterator[Row]:
    """The rows, of which few at a time are in memory as objects of Python."""
    for batch in answer.to_batches(max_chunksize=_BATCH_ROWS):
        yield from batch.to_pylist()


def _print_table(answer: pa.Table) -> None:
    """A table, or one block per row where the table is wider than the terminal."""
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for name in answer.column_names:
        table.add_column(Text(plain(name)))
    rows: list[Row] = answer.slice(0, MAX_SHOWN).to_pylist()
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    console = Console(emoji=False)
    wide = console.options.update(width=100_000)
    needed = Measurement.get(console, wide, table).maximum
    if needed <= console.width:
        console.print(table)
    elif not console.is_terminal:  # a file or a pipe is as wide as it must be
        Console(width=needed, emoji=False).print(table)
    else:
        _print_blocks(rows)
    if answer.num_rows > MAX_SHOWN:
        print(f"The first {MAX_SHOWN} of {answer.num_rows} rows; --csv and --json give them all.")


def _print_blocks(rows: Iterable[Row]) -> None:
    for number, row in enumerate(rows, start=1):
        print(f"row {number}")
        width = max(map(len, row))
        for name, value in row.items():
            print(f"  {plain(name):{width}}  {_cell(value)}")


def _cell(value: object) -> str:
    if value is None:
        return units.MISSING
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return "\n".join(map(plain, text.split("\n")))  # EXPLAIN draws its plan in lines


def _finite(value: Any) -> Any:
    """The value with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
