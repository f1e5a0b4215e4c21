"""`strategy-lab gate`: runs against an accepted baseline, for CI."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

import strategy_profiles
from strategy_core.cli._commands import print_command
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.user_input.arguments import whole
from strategy_profiles.user_input.files import write_text
from strategy_profiles.user_input.text import quoted

if TYPE_CHECKING:
    from strategy_gate.report import GateReport

HELP = "check runs against an accepted baseline"
ONLY_READS = True
EPILOG = (
    "Exact checks (collectives, copies, retraces, placement, memory of the variables, replicas) "
    "need one run; less of something passes and names the command that accepts it. Times need "
    "several runs a side that were recorded alternately, as run --interleave does; with too few "
    "the gate says how many it takes. Exit codes: 0 within the baseline, 1 beyond it, 2 not "
    "comparable or too few runs to tell. Under GitHub Actions it also prints ::error lines."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folders of runs of one program")
    parser.add_argument(
        "--baseline", required=True, metavar="FILE", help="written by strategy-lab baseline"
    )
    parser.add_argument(
        "--only", choices=("exact", "times"), help="leave out the checks of the other kind"
    )
    parser.add_argument(
        "--allow",
        metavar="N%",
        help="a time that grew by less than this share of the step passes (default: 2%%)",
    )
    parser.add_argument(
        "--steady-machine",
        action="store_true",
        help="compare times with runs that were recorded earlier on this machine; only for a "
        "machine whose speed never changes",
    )
    parser.add_argument("--segment", type=whole, metavar="N", help="default: the longest")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    for flag, text in (
        ("--markdown", "append a report for people, e.g. to $GITHUB_STEP_SUMMARY"),
        ("--benchmark-json", "write JSON for github-action-benchmark (customSmallerIsBetter)"),
        ("--bencher-json", "write Bencher Metric Format"),
    ):
        parser.add_argument(flag, metavar="FILE", help=text)


def run(args: argparse.Namespace) -> int:
    """0 within, 1 beyond, 2 if the gate cannot tell; raises LabError if not comparable."""
    from strategy_gate.baseline import read_baseline, read_run
    from strategy_gate.formats import workflow_commands
    from strategy_gate.report import EXIT_CODES, gate
    from strategy_gate.text import accept_command
    from strategy_gate.time_checks import LEAST

    try:
        least = LEAST if args.allow is None else _share(args.allow)
        report = gate(
            read_baseline(args.baseline),
            [read_run(strategy_profiles.load(path), args.segment) for path in args.runs],
            only=args.only,
            least=least,
            is_steady=args.steady_machine,
        )
    except LabError as error:
        if args.json:
            print(json.dumps({"schema_version": 1, "outcome": "error", "reason": str(error)}))
        raise
    accept = accept_command(args.runs, args.baseline)
    if args.json:
        print(json.dumps(gate_document(report, accept), indent=1, allow_nan=False))
    else:
        from strategy_gate.terminal import print_gate

        print_gate(report, least, accept)
    _write_files(args, report, least, accept)
    if _is_github() and not args.json:
        for command in workflow_commands(report):
            print_command(command)
    return EXIT_CODES[report.outcome]


def _is_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _write_files(args: argparse.Namespace, report: GateReport, least: float, accept: str) -> None:
    """Write the files that were asked for; raises RunFolderError."""
    from strategy_gate.formats import bencher, github_action_benchmark
    from strategy_gate.markdown import markdown

    files = (
        (args.markdown, "a", markdown(report, least, accept)),
        (args.benchmark_json, "w", json.dumps(github_action_benchmark(report), indent=1)),
        (args.bencher_json, "w", json.dumps(bencher(report), indent=1)),
    )
    for path, mode, text in files:
        if path:
            write_text(path, text, mode)


def _share(text: str) -> float:
    try:
        value = float(text.strip().removesuffix("%")) / 100
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise SpecError(f"--allow {quoted(text)} is not a share of the step", advice="Write 2%")
    return value


def gate_document(report: GateReport, accept: str) -> dict[str, Any]:
    """Every check; see the names of `ExactCheck` and `TimeCheck`."""
    from strategy_gate.report import EXIT_CODES
    from strategy_gate.text import open_questions

    times = report.times
    return {
        "schema_version": 1,
        "outcome": report.outcome,
        "exit_code": EXIT_CODES[report.outcome],
        "runs": list(report.runs),
        "exact": [asdict(check) for check in report.exact],
        "times": [asdict(check) for check in times.checks] if times else None,
        "num_runs": list(times.num_runs) if times else None,
        "in_turns": times.is_paired if times else None,
        "open_questions": open_questions(report),
        "notes": list(report.notes),
        "better": report.is_better,
        "accept": accept,
    }
