"""`strategy-lab recover`: converts the captures of a run that was killed with its launcher."""

from __future__ import annotations

import argparse
from pathlib import Path

import strategy_profiles
from strategy_core.cli._plain import plain

HELP = "convert the captures that a killed run has left"
ONLY_READS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A launcher converts what its workers have left. This is for a run whose launcher was "
        "killed as well, or that had none: a program that uses lab.record."
    )
    parser.add_argument("run_folder", metavar="RUN", type=Path, help="its folder")


def run(args: argparse.Namespace) -> int:
    """Return the exit code: 0 if no capture is left, 1 if one cannot be converted."""
    from strategy_core.launcher.last_captures import recover_captures

    strategy_profiles.load(args.run_folder)  # raises RunFolderError if it is no run
    outcomes = recover_captures(args.run_folder)
    for each in outcomes:
        print(plain(f"{each.capture}: {each.error or 'converted'}"))
    if not outcomes:
        print(f"No capture of {args.run_folder} is left to convert")
    return 1 if any(each.error for each in outcomes) else 0
