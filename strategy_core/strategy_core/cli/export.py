"""`strategy-lab export`: convert a run to the format of another tool."""

from __future__ import annotations

import argparse

import strategy_profiles
from strategy_profiles.exports import destinations, formats, send, unusable, write

HELP = "write a run for another tool: a report, a trace, tables"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    known = {name: item.description for name, item in formats().items()}
    known |= {name: item.description for name, item in destinations().items()}
    parser.add_argument("run_folder", metavar="RUN", help="its folder")
    parser.add_argument(
        "--format",
        required=True,
        choices=[*known, *(name for name in unusable() if name not in known)],
        help="; ".join(f"{name}: {text.rstrip('.')}" for name, text in known.items()),
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="PATH",
        help="file or folder to write; the address of a service",
    )


def run(args: argparse.Namespace) -> int:
    profile = strategy_profiles.load(args.run_folder)
    export = send if args.format in destinations() else write
    print(export(profile, args.format, args.output))
    return 0
