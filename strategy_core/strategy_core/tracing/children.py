"""Processes that the program starts: workers of a cluster join its run, others are named in it.

A worker of a cluster writes its end into a record of its own, also if it fails before its first
step.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from strategy_core.tracing.settings import Settings

if TYPE_CHECKING:
    from strategy_profiles.run.layout import WorkerFolder

_FOLDER = ".left-out"
_WITHOUT_STEPS = ".without-steps"
_MOST_BYTES = 1 << 16


def is_unrecorded_child(settings: Settings) -> bool:
    """Return whether this is a child process whose steps cannot be recorded.

    A run has one folder per worker, and only TF_CONFIG gives a child process a worker's number.
    """
    return settings.is_child and not os.environ.get("TF_CONFIG")


def claim_worker(settings: Settings) -> WorkerFolder | None:
    """The folder of this process's worker if the process is that worker, and has no record yet.

    The first process of a worker claims its folder. Processes that a worker starts inherit its
    TF_CONFIG, and find the folder taken.
    """
    if not os.environ.get("TF_CONFIG") or settings.waits:
        return None
    from strategy_profiles.run.layout import worker_folder

    if settings.worker is not None and not settings.is_child:
        return worker_folder(Path(settings.run), settings.worker)  # the command has claimed it
    from strategy_core.cluster.discovery.resolve import own_task_in_cluster  # takes long to import

    own_task = own_task_in_cluster()
    if own_task is None:
        return None
    folder = worker_folder(Path(settings.run), own_task.process)
    try:
        folder.path.mkdir()
    except OSError:
        return None
    return folder


def report_unrecorded(settings: Settings) -> None:
    """Leave a file from which the program's first process notes that this one trains, too."""
    folder = Path(settings.run) / _FOLDER
    folder.mkdir(exist_ok=True)
    (folder / str(os.getpid())).write_text(Path(sys.argv[0]).name, encoding="utf-8")


def left_out(settings: Settings) -> list[str]:
    """A sentence for each process that reported itself, in order of their ids."""
    return [
        f"Process {pid} ({said}), which the program started, "
        "trains as well and is not recorded: it has no TF_CONFIG, which would make it a worker of "
        "this run. Start it with `strategy-lab trace` to record it in a run of its own."
        for pid, said in _reports(Path(settings.run) / _FOLDER)
    ]


def _reports(folder: Path) -> list[tuple[int, str]]:
    """The process ids, and what each process has reported in its file."""
    from strategy_profiles.guards import read_file

    reports = []
    for file in folder.iterdir() if folder.is_dir() else ():
        with contextlib.suppress(OSError, ValueError):
            reports.append((int(file.name), read_file(file, _MOST_BYTES).decode()))
    return sorted(reports)


def report_without_steps(settings: Settings, error: BaseException | None) -> None:
    """Leave a file from which the first process notes how this one ended before its first step."""
    if "tensorflow" not in sys.modules:
        return
    ended = ""
    if error is not None:
        from strategy_core.runtime.error_message import type_and_cause

        ended = type_and_cause(error)
    folder = Path(settings.run) / _WITHOUT_STEPS
    folder.mkdir(exist_ok=True)
    said = json.dumps({"program": Path(sys.argv[0]).name, "ended": ended})
    (folder / str(os.getpid())).write_text(said, encoding="utf-8")


def without_steps(settings: Settings) -> list[str]:
    """A sentence for each child process that imported TensorFlow and had no step."""
    sentences = []
    for pid, said in _reports(Path(settings.run) / _WITHOUT_STEPS):
        child = json.loads(said)
        how = (
            f"before its first step, with {child['ended']}" if child["ended"] else "without a step"
        )
        sentences.append(f"Process {pid} ({child['program']}), which it started, ended {how}.")
    return sentences
