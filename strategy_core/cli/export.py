"""`strategy-lab export`: convert a run to the format of another tool."""

from __future__ import annotations

import argparse
from pathlib import Path

from strategy_lab import profiles
from strategy_lab.profiles.exports import formats, write

HELP = "write a run for another tool: a report, a trace, tables"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = formats()
    parser.add_argument("run_folder", metavar="RUN", help="its folder")
    parser.add_argument(
        "--format",
        required=True,
        choices=list(known),
        help="; ".join(f"{name}: {item.description}" for name, item in known.items()),
    )
    parser.add_argument(
        "-o", "--output", required=True, type=Path, metavar="PATH", help="file or folder to write"
    )


def run(args: argparse.Namespace) -> int:
    print(write(profiles.load(args.run_folder), args.format, args.output))
    return 0
