"""`strategy-lab run --repeat`: many runs of one spec or two, then their comparison."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from strategy_core.cli._run_request import read_changes
from strategy_core.cli._watching import signals_kept, watch
from strategy_core.launcher.launcher import Launcher
from strategy_core.launcher.repetition import (
    MOST_ASKED,
    Outcome,
    Plan,
    Repetition,
    new_plan,
    plan_file,
)
from strategy_core.planning import validation
from strategy_profiles.analysis.compare.document import comparison_document
from strategy_profiles.errors import AnalysisError, SpecError
from strategy_profiles.run.new_name import in_folder
from strategy_profiles.spec.run_spec import RunSpec, load_spec
from strategy_profiles.user_input.text import quoted, whole_or_none

AUTO = "auto"


def add_repeat_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--repeat",
        metavar="N|auto",
        help="number of runs to record, RUN-a-1, RUN-a-2, ...; auto (with --interleave): as "
        "many as detect a difference of 5 %% with 90 %% probability, given how much the first "
        "runs differ, but at most 60, and no more than the first runs if far more than 60 are "
        "needed. Repeat the command to continue after an interruption, or with a greater N for "
        "more runs",
    )
    parser.add_argument(
        "--interleave",
        action="append",
        default=[],
        metavar="OTHER.yaml|KEY=VALUE",
        help="with --repeat: a second spec, whose runs RUN-b-1, RUN-b-2, ... alternate with "
        "those of the first in random order; a spec file, or KEY=VALUE changes of the first "
        "spec",
    )


def repeat(args: argparse.Namespace, spec: RunSpec, choose: Callable[[], Path]) -> int:
    """0 if every run finished, 1 if one did not, 130 if stopped; raises LabError.

    Args:
      choose: returns a new name for the runs, if none was given.
    """
    number = _number(args.repeat, bool(args.interleave))
    specs = [spec, _second_spec(spec, args.interleave)] if args.interleave else [spec]
    # Before the plan, which is kept once it is written.
    checked = [validation.check(each) for each in specs]
    plan = _saved_plan(args.output, choose, specs)
    with Launcher(forks=True) as launcher:

        def record(spec: RunSpec, run: Path) -> None:
            with signals_kept() as kept:
                handle = launcher.launch(checked[specs.index(spec)], run)
                watch(handle, args.json, signals=kept)
            if handle.message:
                print(f"strategy-lab: {' '.join(handle.message.split())}", file=sys.stderr)

        outcome = Repetition(plan, record, _say).go(number)
    _show(outcome, args.json)
    if not outcome.is_complete and any("(stopped)" in run for run in outcome.failed):
        _say("Stopped. Repeat the command to continue.")
        return 128 + signal.SIGINT
    return 1 if outcome.failed or not outcome.is_complete else 0


def _saved_plan(given: Path | None, choose: Callable[[], Path], specs: Sequence[RunSpec]) -> Plan:
    """The plan of an earlier command with the same output, or a new one; raises LabError.

    Without an output it is new: another command may choose the same name at the same time.
    """

    def save(folder: Path) -> Plan:
        plan = new_plan(folder, specs)
        if given is not None:
            plan = plan.resumed()
        plan.save()
        return plan

    return in_folder(given, choose, save, plan_file)


def _number(text: str, has_other: bool) -> int | None:
    if text == AUTO:
        if not has_other:
            raise SpecError(
                "--repeat auto has nothing to compare with",
                advice="Add --interleave OTHER.yaml, or give a number of runs",
            )
        return None
    number = whole_or_none(text)
    if number is None or not 1 <= number <= MOST_ASKED:
        raise SpecError(
            f"--repeat {quoted(text)} is not a number of runs",
            advice=f"Give 1 to {MOST_ASKED}, or {AUTO}",
        )
    return number


def _second_spec(spec: RunSpec, texts: Sequence[str]) -> RunSpec:
    """The second spec: from a file, else the first one; with the changes that are given."""
    files = [text for text in texts if "=" not in text]
    if len(files) > 1:
        raise SpecError(
            f"--interleave names {len(files)} spec files: {', '.join(files)}",
            advice="Name one, and changes of it as KEY=VALUE",
        )
    base = load_spec(files[0]) if files else spec
    changes = read_changes([text for text in texts if "=" in text], "--interleave")
    return base.with_changes(changes)


def _show(outcome: Outcome, is_json: bool) -> None:
    if outcome.failed:
        _say(f"Not finished: {', '.join(outcome.failed)}")
    try:
        compared = outcome.comparison()
    except AnalysisError as error:
        _say(str(error))
        return
    if compared is None:
        if len(outcome.finished) == 2:
            _say("The two sides cannot be compared: one has no finished run.")
        return
    if is_json:
        print(json.dumps({"kind": "comparison", **comparison_document(compared, [])}))
    else:
        from strategy_core.cli._comparison_text import print_comparison

        print_comparison(compared, [])


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
