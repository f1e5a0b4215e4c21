"""`strategy-lab summary`: what a run did, for people and for programs."""

from __future__ import annotations

import argparse
import json

import strategy_profiles

HELP = "print a run's steps, time per replica and communication"
ONLY_READS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_folder", metavar="RUN", help="its folder")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument(
        "--gains",
        action="store_true",
        help="also what a step would gain without each finding, predicted by a replay",
    )


def run(args: argparse.Namespace) -> int:
    profile = strategy_profiles.load(args.run_folder)
    summary = profile.summary(gains=args.gains)
    if args.json:
        print(json.dumps(summary, indent=1, allow_nan=False))
    else:
        from strategy_core.cli._summary_text import print_summary

        print_summary(profile, summary)
    return 0
