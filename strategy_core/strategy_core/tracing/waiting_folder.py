"""The run folder of a program that waits: its mailbox, and an event log without steps."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from strategy_core.tracing.late_ending import worker_started
from strategy_core.tracing.settings import Settings, runs_of_environment
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Note
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.manifest import WAITS, create_run_file


def waiting_run(settings: Settings) -> Path:
    """The run folder of this process, which the command has made for the program it started.

    A process that the program starts gets one of its own beside that, as one that the environment
    variable STRATEGY_LAB has wait. Raises RunFolderError if it cannot be made.
    """
    if settings.run and not settings.is_child:
        return Path(settings.run)
    from strategy_profiles.run.new_name import in_folder, numbered_name  # long to import

    runs = (Path(settings.run).parent if settings.run else runs_of_environment()).resolve()

    def create(run: Path) -> Path:
        create_run_file(run, recorded_by=WAITS)
        return run

    return in_folder(None, lambda: runs / numbered_name(runs, [_name()]), create)


def open_log(run: Path) -> EventLog:
    """The event log of this process, with its first events."""
    record = worker_folder(run, 0)
    log = EventLog(record.events)
    log.write(worker_started(record, os.getpid()))
    log.write(
        Note(
            "info",
            "This program waits for `strategy-lab attach`, which records its next steps into a run "
            "of their own",
            fields={"command": " ".join(sys.orig_argv)},
        )
    )
    return log


def _name() -> str:
    """What the run is called after: the script, or the package of `python -m`."""
    script = Path(sys.argv[0] if sys.argv else "python")
    name = script.parent.name if script.stem == "__main__" else script.stem
    return name if name not in ("", "-c", "-m") else "code"
