"""`strategy-lab collect`: the folders that the hosts of a run each wrote, as one run."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import strategy_profiles
from strategy_core.cli._plain import plain

HELP = "merge the folders that the hosts of one run wrote"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="one per host")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="RUN", help="the new run folder"
    )


def run(args: argparse.Namespace) -> int:
    """Return the exit code: 0 if the run is complete, 1 if records of a process are missing."""
    from strategy_collect.merge_hosts import collect
    from strategy_core.cli._summary_text import print_summary

    collected = collect(args.folders, args.output)
    profile = strategy_profiles.load(collected.folder)
    print_summary(profile, profile.summary())
    print(f"\nCollected in {collected.folder}")
    if collected.missing:
        names = ", ".join(collected.missing)
        print(
            f"strategy-lab: no records of {plain(names)}: name every host's folder", file=sys.stderr
        )
    return 1 if collected.missing else 0
