"""`strategy-lab baseline`: accept runs as what later runs are checked against."""

from __future__ import annotations

import argparse
from pathlib import Path

import strategy_profiles
from strategy_core.cli._plain import plain
from strategy_profiles.reporting import units
from strategy_profiles.user_input.arguments import whole

HELP = "accept runs as the baseline of strategy-lab gate"
ONLY_READS = True
EPILOG = (
    "The file keeps what does not vary (collectives, copies, retraces, placement, memory of the "
    "variables, number of replicas) and the times of every run. What differs between the accepted "
    "runs is not checked later, so accept three or more. Accepting again rewrites the file; keep "
    "it under version control, so that a review sees what changed."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of runs of one program")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the baseline file")
    parser.add_argument("--segment", type=whole, metavar="N", help="default: the longest")


def run(args: argparse.Namespace) -> int:
    """0 if the file was written; raises LabError if the runs are not of one program."""
    from strategy_gate.baseline import accept, read_run, save
    from strategy_profiles.analysis.compare.repetitions import MIN_PAIRS

    read = [read_run(strategy_profiles.load(path), args.segment) for path in args.runs]
    baseline = accept(read)
    save(baseline, Path(args.output))
    facts = sum(len(group) for group in baseline.exact.values())
    runs = units.counted(len(read), "run")
    print(f"{args.output}: {units.counted(facts, 'exact fact')}, times of {runs}")
    for name in baseline.varies:
        print(f"Differs between these runs, so it is not checked: {plain(name)}")
    for group, reason in baseline.missing.items():
        print(f"Not known: {group} ({plain(reason)})")
    if len(read) < MIN_PAIRS:
        print(f"Times are checked against {MIN_PAIRS} or more accepted runs; this has {runs}.")
    return 0
