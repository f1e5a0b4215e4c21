"""`strategy-lab compare`: is B faster than A, or is it noise? And may it be that much slower?"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import Any

from strategy_lab import profiles
from strategy_lab.profiles.analysis.comparison import CONFIDENCE
from strategy_lab.profiles.analysis.limits import LimitCheck, check_limit, parse_limit
from strategy_lab.profiles.analysis.run_comparison import METRICS, RunComparison, compare_runs
from strategy_lab.profiles.errors import LabError

HELP = "is run B faster than run A, or is it noise?"
EPILOG = "Exit code: 0 within the limits, 1 beyond one, 2 not comparable."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("a", metavar="A", help="the run to compare against")
    parser.add_argument("b", metavar="B", help="the run that is judged")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument(
        "--fail-on",
        metavar="METRIC:+N%",
        action="append",
        default=[],
        help="exit 1 where B is beyond this, e.g. 'step_time_ms:+5%%' or 'loss:+0.1' "
        f"(repeatable; metrics: {', '.join(METRICS)}, or any dotted path of a segment's summary)",
    )
    parser.add_argument("--segment-a", type=int, metavar="N", help="default: the longest")
    parser.add_argument("--segment-b", type=int, metavar="N", help="default: the longest")


def run(args: argparse.Namespace) -> int:
    try:
        limits = [parse_limit(text) for text in args.fail_on]
        compared = compare_runs(
            profiles.load(args.a),
            profiles.load(args.b),
            a_segment=args.segment_a,
            b_segment=args.segment_b,
        )
        checks = [check_limit(compared, limit) for limit in limits]
    except LabError as error:
        if args.json:
            print(json.dumps({"schema_version": 1, "comparable": False, "reason": str(error)}))
        raise
    if args.json:
        print(json.dumps(_document(compared, checks), indent=1, allow_nan=False))
    else:
        from strategy_core.cli._comparison_text import print_comparison

        print_comparison(compared, checks)
    return 1 if any(check.is_beyond for check in checks) else 0


def _document(compared: RunComparison, checks: list[LimitCheck]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "comparable": True,
        "confidence": CONFIDENCE,
        "a": {"run": compared.a_name, "segment": compared.a_segment},
        "b": {"run": compared.b_name, "segment": compared.b_segment},
        "verdict": compared.times.verdict,
        "step_time": asdict(compared.times),
        "metrics": [asdict(item) | {"change": item.change} for item in compared.metrics],
        "checks": [
            {
                "limit": check.limit.text,
                "metric": check.limit.metric,
                "a": check.found.a,
                "b": check.found.b,
                "change": check.found.change,
                "beyond": check.is_beyond,
                "remark": check.remark,
            }
            for check in checks
        ],
        "warnings": list(compared.warnings),
    }
