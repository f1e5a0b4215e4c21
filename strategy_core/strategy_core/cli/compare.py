"""`strategy-lab compare`: is B faster than A, or is it noise? And may it be that much slower?"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import strategy_profiles
from strategy_profiles.analysis.compare.document import comparison_document
from strategy_profiles.analysis.compare.each import compare_each
from strategy_profiles.analysis.compare.limits import check_limit, parse_limit
from strategy_profiles.analysis.compare.run_comparison import METRICS, compare_sets
from strategy_profiles.errors import LabError
from strategy_profiles.run.same_program import earlier_runs
from strategy_profiles.user_input.arguments import whole

HELP = "is run B faster than run A, or is it noise?"
ONLY_READS = True
EPILOG = (
    "One run a side gives the difference of these two runs, but does not show how much two "
    "runs of one spec differ. Several runs a side, recorded alternately, answer the question: "
    "`strategy-lab run A.yaml --interleave B.yaml --repeat auto` records them. Three to six runs "
    "without --against are compared each with the first, one run a side. With one run a "
    "side, --fail-on compares the values of the two runs, and a step time fails only if the "
    "noise within them does not explain it. With several runs a side, a change fails only if "
    "the differences between runs do not explain it. Exit codes: 0 within the limits, 1 "
    "beyond a limit, 2 not comparable."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.usage = (
        "strategy-lab compare A B | B | A B C ... | A1 A2 A3 ... --against B1 B2 B3 ... [options]"
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="A and B; B alone: against the run before of the same traced program; up to six: each "
        "against the first; with --against, every run of A",
    )
    parser.add_argument("--against", nargs="+", metavar="B", help="the runs of side B")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument(
        "--fail-on",
        metavar="METRIC:+N%",
        action="append",
        default=[],
        help="exit 1 if B is beyond this, e.g. 'step_time_ms:+5%%' or 'loss:+0.1' "
        f"(repeatable; metrics: {', '.join(METRICS)}, or any dotted path of a segment's summary)",
    )
    parser.add_argument("--segment-a", type=whole, metavar="N", help="default: the longest")
    parser.add_argument("--segment-b", type=whole, metavar="N", help="default: the longest")


def run(args: argparse.Namespace) -> int:
    """0 within all limits, 1 beyond one; raises LabError if the runs are not comparable."""
    try:
        limits = [parse_limit(text) for text in args.fail_on]
        if args.against is None and len(args.runs) > 2:
            return _compare_with_first(args)
        a, b = _sides(args.runs, args.against)
        compared = compare_sets(
            [strategy_profiles.load(path) for path in a],
            [strategy_profiles.load(path) for path in b],
            a_segment=args.segment_a,
            b_segment=args.segment_b,
            metrics=[limit.metric for limit in limits],
        )
        checks = [check_limit(compared, limit) for limit in limits]
    except LabError as error:
        if args.json:
            print(json.dumps({"schema_version": 1, "comparable": False, "reason": str(error)}))
        raise
    if args.json:
        print(json.dumps(comparison_document(compared, checks), indent=1, allow_nan=False))
    else:
        from strategy_core.cli._comparison_text import print_comparison

        print_comparison(compared, checks)
    return 1 if any(check.is_beyond for check in checks) else 0


def _compare_with_first(args: argparse.Namespace) -> int:
    """Compare each run with the first; 0 if every one of them can be."""
    if args.fail_on or args.segment_a is not None or args.segment_b is not None:
        raise LabError(
            "--fail-on, --segment-a and --segment-b take two sides, not several runs",
            advice="Name two runs, or write the runs of side B after --against",
        )
    compared = compare_each([strategy_profiles.load(path) for path in args.runs])
    if args.json:
        documents = [
            comparison_document(item.compared, [])
            if item.compared
            else {"schema_version": 1, "comparable": False, "reason": item.reason}
            for item in compared
        ]
        print(json.dumps(documents, indent=1, allow_nan=False))
    else:
        from rich.console import Console

        from strategy_core.cli._answer_text import print_answer
        from strategy_profiles.questions.comparison import against_first

        runs = [strategy_profiles.load(path).name for path in args.runs]
        print_answer(against_first(compared, runs), Console(emoji=False))
    return 0 if all(item.compared for item in compared) else 2


def _run_before(run: Path) -> Path:
    """The last run before it of the same program; raises LabError if there is none."""
    before = earlier_runs(run) if run.is_dir() else []
    if not before:
        raise LabError(
            f"There is no earlier run of the program of {run}",
            advice="Name two runs: strategy-lab compare A B, or several a side with --against",
        )
    return before[0]


def _sides(runs: Sequence[str], against: Sequence[str] | None) -> tuple[list[str], list[str]]:
    if against is not None:
        return list(runs), list(against)
    if len(runs) == 1:
        return [str(_run_before(Path(runs[0])))], [runs[0]]
    if len(runs) != 2:
        raise LabError(
            f"compare takes two runs or more, not {len(runs)}",
            advice="To compare several runs a side, write strategy-lab compare A1 A2 A3 --against "
            "B1 B2 B3",
        )
    return [runs[0]], [runs[1]]
