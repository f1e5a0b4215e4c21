"""`strategy-lab sql`: DuckDB SQL over the tables of a run."""

from __future__ import annotations

import argparse
import json

import profiles
from profiles.schema import TABLES

HELP = "ask a run's tables in SQL (DuckDB)"
MAX_SHOWN = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN")
    parser.add_argument("query", metavar="SQL", help=f"over the tables {', '.join(TABLES)}")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object per row, one per line")
    form.add_argument("--csv", action="store_true", help="CSV with a header line")


def run(args: argparse.Namespace) -> int:
    answer = profiles.load(args.run_folder).sql(args.query)
    if args.json:
        for row in answer.to_pylist():
            print(json.dumps(row, default=str))
    elif args.csv:
        _print_csv(answer.column_names, answer.to_pylist())
    else:
        _print_table(answer.column_names, answer.to_pylist())
    return 0


def _print_csv(names: list[str], rows: list[dict[str, object]]) -> None:
    import csv
    import sys

    writer = csv.writer(sys.stdout)
    writer.writerow(names)
    writer.writerows(list(row.values()) for row in rows)


def _print_table(names: list[str], rows: list[dict[str, object]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for row in rows[:MAX_SHOWN]:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    console = Console()
    console.print(table)
    if len(rows) > MAX_SHOWN:
        console.print(f"The first {MAX_SHOWN} of {len(rows)} rows; --csv and --json give them all.")


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
