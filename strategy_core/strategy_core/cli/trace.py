"""`strategy-lab trace`: records an unchanged program into a run folder."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from strategy_core.cli._live import open_live_page
from strategy_core.cli._options import DEFAULT_RUNS, add_output, add_runs, add_set
from strategy_core.tracing.command import environment_of, name_of, python_command
from strategy_core.tracing.own_lines import say
from strategy_core.tracing.settings import Settings
from strategy_core.tracing.watcher import run_watched
from strategy_profiles.extras import require
from strategy_profiles.run.manifest import WAITS, Program, create_run_file, program_of
from strategy_profiles.run.new_name import in_folder, numbered_name
from strategy_profiles.run.same_program import earlier_runs

if TYPE_CHECKING:
    from strategy_core.cluster.discovery.task_address import OwnTask

HELP = "run a program of your own, unchanged, and record it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Options come before the program; everything after the program is the program's own."
    )
    parser.usage = "strategy-lab trace [options] (SCRIPT | -m MODULE | -c CODE) [arguments]"
    add_output(parser, "the run folder (default: a new one in --runs)")
    add_runs(parser)
    add_set(
        parser,
        "what is captured: a field of RunSpec's capture by its dotted path, such as "
        "capture.every_step=true (repeatable)",
    )
    parser.add_argument(
        "--idle",
        action="store_true",
        help="record nothing until strategy-lab attach says so; the run folder is where it asks",
    )
    parser.add_argument(
        "--live", action="store_true", help="open the page beside the program, which it follows"
    )
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, help="run a module, as python -m does"
    )
    parser.add_argument(
        "-c", dest="code", nargs=argparse.REMAINDER, help="run code, as python -c does"
    )
    parser.add_argument(
        "program", nargs=argparse.REMAINDER, metavar="SCRIPT", help="a script, and its arguments"
    )


def run(args: argparse.Namespace) -> int:
    """Run the program with this process's input and output, and end as it does."""
    require("tensorflow")
    command = python_command(args.program, args.module, args.code)
    capture = capture_of(args.set)
    name = name_of(args.program, args.module)
    program = None if args.idle else _program(args, command)
    own_task = None if args.idle else _own_task()

    def create(folder: Path) -> Path:
        if own_task is not None:
            from strategy_core.launcher.claim import claim_part

            claim_part(folder, None, own_task, program)
        else:
            create_run_file(folder, recorded_by=WAITS if args.idle else "record", program=program)
        return folder

    folder = in_folder(args.output, lambda: args.runs / numbered_name(args.runs, [name]), create)
    worker = None if own_task is None else own_task.process
    state = f"waiting for strategy-lab attach {folder}" if args.idle else f"recording into {folder}"
    say(state)
    if args.live:
        open_live_page(folder)
    if sys.stdout is not None:
        sys.stdout.flush()

    def become_program() -> NoReturn:
        settings = Settings(str(folder.resolve()), os.getpid(), capture, args.idle, worker)
        os.execve(command[0], command, environment_of(os.environ, settings))

    run_watched(folder, worker, become_program, _what_next(folder, is_idle=args.idle))


def _program(args: argparse.Namespace, command: Sequence[str]) -> Program | None:
    """What the run keeps of the program; None of code without a file.

    Args:
      command: what runs it: Python, then the script, or `-m` and the module.
    """
    options = [part for change in args.set for part in ("--set", change)]
    runs = args.output.parent if args.output else args.runs
    if runs != DEFAULT_RUNS:
        options += ["--runs", str(runs)]
    begin = ["strategy-lab", "trace", *options]
    if args.module is not None:
        _, _, module, *arguments = command
        return program_of(f"{Path.cwd()} -m {module}", arguments, [*begin, "-m", module])
    if args.code is not None:
        return None
    _, script, *arguments = command
    return program_of(str(Path(script).resolve()), arguments, [*begin, args.program[0]])


def _own_task() -> OwnTask | None:
    """This process's task in its cluster, without what reads clusters if it is in none."""
    if not os.environ.get("TF_CONFIG"):
        return None
    from strategy_core.cluster.discovery.resolve import own_task_in_cluster

    return own_task_in_cluster()


def _what_next(folder: Path, *, is_idle: bool) -> str:
    """The last line: what to do with the run."""
    page = f"strategy-lab ui --runs {shlex.quote(str(folder.parent))}"
    if is_idle:
        return f"the program has ended. For what was attached: {page}"
    run = shlex.quote(str(folder))
    against = (
        f" Against the run before: strategy-lab compare {run}." if earlier_runs(folder) else ""
    )
    return (
        f"recorded into {folder}.{against} What limits the program: strategy-lab summary {run}, or "
        f"{page}"
    )


def capture_of(changes: list[str]) -> dict[str, object]:
    """The fields of `capture` that `--set` names; raises SpecError for other fields."""
    if not changes:
        return {}
    from strategy_core.cli._run_request import read_changes
    from strategy_profiles.spec.run_spec import RunSpec

    spec = RunSpec().with_changes(read_changes(changes, "--set"))
    changed: dict[str, object] = spec.capture.model_dump(exclude_defaults=True)
    return changed
