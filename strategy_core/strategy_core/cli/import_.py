"""`strategy-lab import`: a profile that was recorded elsewhere, as a run."""

from __future__ import annotations

import argparse
from pathlib import Path

import strategy_profiles
from strategy_core.cli._options import add_output, add_runs
from strategy_profiles.importers import import_profile, what_is_read

HELP = "open a packed run, or a profile that another program recorded"
ONLY_READS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="PATH", help="; ".join(what_is_read()))
    add_output(parser, "the new run folder (default: a new one in --runs, named like the profile)")
    add_runs(parser)


def run(args: argparse.Namespace) -> int:
    """Return the exit code: 0, also if only a part of the profile can be read, which is said."""
    from strategy_core.cli._summary_text import print_summary

    folder = import_profile(args.path, args.output, args.runs)
    profile = strategy_profiles.load(folder)
    print_summary(profile, profile.summary())
    print(f"\nImported as {folder}")
    return 0
