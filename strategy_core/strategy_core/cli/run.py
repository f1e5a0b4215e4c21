"""`strategy-lab run`: a run without the page, by the same launcher."""

from __future__ import annotations

import argparse
from pathlib import Path

from strategy_core.cli._options import add_output
from strategy_core.cli._repeat import add_repeat_arguments, repeat
from strategy_core.cli._run_request import add_spec_arguments, build_spec
from strategy_core.cli._watching import report, signals_kept, watch
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.errors import SpecError
from strategy_profiles.extras import require
from strategy_profiles.run.events import CommandAnswered
from strategy_profiles.run.new_name import in_folder, new_name

RUNS = Path("runs")
HELP = "run a strategy and record it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_spec_arguments(parser)
    add_repeat_arguments(parser)
    add_output(parser, "the run folder (default: a new one in runs/)")
    parser.add_argument("--json", action="store_true", help="events and the summary as JSON lines")


def run(args: argparse.Namespace) -> int:
    """Return 0 if the run did what was asked, 1 if it failed, 2 if the request was wrong."""
    require("tensorflow")
    spec = build_spec(args)
    if args.repeat is not None:
        return repeat(args, spec, lambda: RUNS / new_name(RUNS, spec))
    if args.interleave:
        raise SpecError("--interleave needs --repeat", advice="Add --repeat auto")
    with Launcher() as launcher, signals_kept() as kept:
        handle = in_folder(
            args.output,
            lambda: RUNS / new_name(RUNS, spec),
            lambda folder: launcher.launch(spec, folder),
        )
        events = watch(handle, args.json, signals=kept)
    code = report(handle, args.json)
    answers = (event for event in events if isinstance(event, CommandAnswered))
    is_refused = any(answer.status == "rejected" for answer in answers)
    return 1 if is_refused and not code else code
