"""`strategy-lab change`: a command to a run that `strategy-lab worker` started on several hosts."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from strategy_core.cli._plain import plain
from strategy_core.cli._run_request import read_changes
from strategy_profiles.errors import RunFolderError, SpecError
from strategy_profiles.run.command_mailbox import leave_command, why_unheard
from strategy_profiles.run.event_log import read_events
from strategy_profiles.run.events import CommandAnswered, Exited
from strategy_profiles.run.layout import launcher_file, worker_folder
from strategy_profiles.tables.store import load
from strategy_profiles.user_input.arguments import number

HELP = "change or stop a running run on several hosts, through its folder"
_POLL_EVERY_S = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, metavar="RUN", help="its folder on the host of worker 0"
    )
    parser.add_argument(
        "changes",
        nargs="*",
        metavar="KEY=VALUE",
        help="any RunSpec field by its dotted path, as in --set: global_batch_size=128",
    )
    parser.add_argument("--stop", action="store_true", help="stop it after the current step")
    parser.add_argument(
        "--within",
        type=number,
        default=60.0,
        metavar="SECONDS",
        help="timeout for the run's answer, in seconds (default: 60)",
    )


def run(args: argparse.Namespace) -> int:
    """Return the exit code: 0 if the run applied the change, 1 if it refused or did not answer.

    Raises SpecError or RunFolderError for a request that cannot be sent.
    """
    if bool(args.changes) == args.stop:
        raise SpecError(
            "Both changes and --stop were given" if args.stop else "No change was given",
            advice="Give either changes as KEY=VALUE or --stop",
        )
    changes = read_changes(args.changes)
    _check_takes_commands(args.folder)
    number = leave_command(args.folder, "stop" if args.stop else "reconfigure", changes or None)
    answer = _wait_for_answer(args.folder, number, time.monotonic() + args.within)
    if answer is None:
        unanswered = f"the run has not answered command {number} within {args.within:.0f} s"
        print(f"strategy-lab: {unanswered}; it may still do so", file=sys.stderr)
        return 1
    if answer.status != "applied":
        print(f"strategy-lab: {plain(answer.message or 'refused')}", file=sys.stderr)
        return 1
    after = "" if answer.took_ms is None else f", in {answer.took_ms / 1e3:.2f} s"
    print(f"Done at step {answer.step}{after}")
    return 0


def _check_takes_commands(run: Path) -> None:
    """Raise RunFolderError if there is no run, it is over, or its launcher reads no commands."""
    status = load(run).status
    if status.is_over:
        raise RunFolderError(
            f"The run in {run} is not running ({status.state}), so it cannot be changed"
        )
    reason = why_unheard(run)
    if reason is not None:
        raise RunFolderError(
            f"The run in {run} takes no commands from its folder: {reason}",
            advice="Change a run on the page that started it, or plan the change with run "
            "--reconfigure; change a traced program itself",
        )


def _wait_for_answer(run: Path, number: int, until: float) -> CommandAnswered | None:
    """Return the answer to command `number`, which worker 0 or its launcher writes to its log.

    Returns None if there is no answer at the monotonic time `until`, or when worker 0 has exited.
    """
    cursors = {worker_folder(run, 0).events: 0, launcher_file(run): 0}
    has_exited = False
    while True:
        # The launcher records the exit in the other file. An answer may have been written after the
        # worker's file was read and before the exit, so both files are read once more.
        is_last_read = has_exited
        for path, cursor in cursors.items():
            events, cursors[path] = read_events(path, cursor)
            for event in events:
                if isinstance(event, CommandAnswered) and event.number == number:
                    return event
                has_exited |= isinstance(event, Exited) and event.worker == 0
        if is_last_read or time.monotonic() > until:
            return None
        time.sleep(_POLL_EVERY_S)
