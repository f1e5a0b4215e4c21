"""`strategy-lab attach`: records the next steps of a program that waits."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import strategy_profiles
from strategy_attach import startup_file
from strategy_attach.attaching import Attachment, waiting_programs
from strategy_core.cli._live import open_live_page
from strategy_core.cli._options import add_output, add_runs, add_set
from strategy_core.cli._plain import plain
from strategy_core.cli._run_request import read_changes
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.reporting import units
from strategy_profiles.run.new_name import numbered_name
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.user_input.arguments import number, whole

HELP = "record the next steps of a program that waits for it"
_DEFAULT_STEPS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A program waits if it was started by strategy-lab trace --idle, or with STRATEGY_LAB=1 in "
        "an environment where strategy-lab attach --install was run once."
    )
    parser.add_argument(
        "run_folder",
        type=Path,
        nargs="?",
        metavar="RUN",
        help="the program's run folder; without it, the programs that wait are listed",
    )
    parser.add_argument(
        "--steps", type=whole, metavar="N", help=f"how many (default: {_DEFAULT_STEPS})"
    )
    parser.add_argument("--seconds", type=number, help="or for how long")
    add_output(parser, "the folder to record into (default: a new one beside the program's)")
    add_runs(parser, "folder of run folders, for the list")
    add_set(parser, "what is captured, as for trace (default: capture.every_step=true)")
    parser.add_argument(
        "--within",
        type=number,
        default=60.0,
        metavar="SECONDS",
        help="give up if no step ends for so long (default: %(default)g)",
    )

    parser.add_argument(
        "--live", action="store_true", help="open the page, which follows the recording"
    )
    parser.add_argument(
        "--install",
        action="store_true",
        help="have STRATEGY_LAB=1 work in this Python environment, through a .pth file",
    )
    parser.add_argument("--uninstall", action="store_true", help="remove that file")


def run(args: argparse.Namespace) -> int:
    """Return the exit code: 0 if every requested step was recorded."""
    if args.install:
        print(f"{startup_file.install()} was written: programs wait if STRATEGY_LAB is 1")
        return 0
    if args.uninstall:
        print(f"{startup_file.uninstall()} was removed")
        return 0
    if args.run_folder is None:
        return _list(args.runs)
    if args.steps is not None and args.seconds is not None:
        raise SpecError("Both --steps and --seconds were given", advice="Give one of them")
    if min(1 if args.steps is None else args.steps, args.seconds or 1) <= 0:
        raise SpecError("Nothing is to be recorded", advice="Give a number above 0")
    num_steps = args.steps or (_DEFAULT_STEPS if args.seconds is None else None)
    folder = args.output or _beside(args.run_folder)
    every = {"capture.every_step": True, "capture.window_steps": min(num_steps or 100, 100)}
    spec = RunSpec().with_changes(every | read_changes(args.set, "--set"))
    wish = {
        "steps": num_steps,
        "seconds": args.seconds,
        "capture": spec.capture.model_dump(exclude_defaults=True),
    }
    attachment = Attachment(args.run_folder, folder, wish)
    print(f"strategy-lab: recording into {folder}", file=sys.stderr, flush=True)
    if args.live:
        open_live_page(folder)
    try:
        num_done = attachment.wait(args.within + (args.seconds or 0))
    except KeyboardInterrupt:
        attachment.stop()
        raise
    _print_result(folder, num_done)
    if num_steps is None or num_done >= num_steps:
        return 0
    recorded = f"{num_done} of {num_steps} steps were recorded"
    print(f"strategy-lab: {recorded}: the program ended, or did none for a while", file=sys.stderr)
    return 1


def _beside(run: Path) -> Path:
    return run.parent / numbered_name(run.parent, [run.resolve().name, "attached"])


def _print_result(folder: Path, num_steps: int) -> None:
    for segment in strategy_profiles.load(folder).summary()["segments"]:
        print(plain(segment["headline"]))
    print(f"{units.counted(num_steps, 'step')} in {folder}. To open it:")
    print(f"  strategy-lab ui --runs {folder.parent}")


def _list(runs: Path) -> int:
    programs = waiting_programs(runs)
    if not programs:
        raise LabError(
            f"No program waits in {runs}",
            advice="Start one with strategy-lab trace --idle, or name its folder with --runs",
        )
    for program in programs:
        minutes = (time.time_ns() - program.started_ns) / 60e9
        line = f"{program.run}  process {program.pid}, for {minutes:.0f} min: {program.command}"
        print(plain(line))
    return 0
