"""`strategy-lab doctor`: what this installation has, and what a missing part costs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

import strategy_core.cli
from strategy_core.cli._options import add_runs
from strategy_core.cli._plain import plain
from strategy_doctor.check import Check
from strategy_doctor.report import examine

HELP = "check this installation: TensorFlow, GPUs, limits, extras"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "Exit codes: 0 training can run here, 1 it cannot."
    parser.add_argument("--json", action="store_true", help="one JSON document")
    add_runs(parser, "folder of run folders to check")


def run(args: argparse.Namespace) -> int:
    """0 if training can run on this machine, 1 if something keeps it from running."""
    checks: list[Check] = []
    if not args.json:
        print(f"Strategy Lab {strategy_core.__version__}")
    for check in examine(args.runs):
        checks.append(check)
        if not args.json:
            _print(check)
    can_train = all(check.state != "broken" for check in checks)
    if args.json:
        print(json.dumps(_document(checks, can_train), indent=1))
    else:
        print(f"\nTraining {'can' if can_train else 'cannot'} run here.")
    return 0 if can_train else 1


def _document(checks: Sequence[Check], can_train: bool) -> dict[str, object]:
    return {
        "schema_version": 1,
        "version": strategy_core.__version__,
        "can_train": can_train,
        "checks": [asdict(check) for check in checks],
    }


def _print(check: Check) -> None:
    print(f"{check.state:8} {check.title:19} {plain(check.found)}", flush=True)
    if check.costs:
        print(f"{'':28} costs: {plain(check.costs)}")
    if check.advice:
        print(f"{'':28} {plain(check.advice)}")
