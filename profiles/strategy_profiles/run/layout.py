"""The files of a run folder. One writer per file; append-only, or written whole and renamed.

RUN/
  run.json                          the spec and the run's identity, written whole, once
  launcher.jsonl                    events of the launcher
  launcher-1.jsonl                  of worker 1's, where every task of a cluster has its own
  commands/000001.json              what a launcher on another host, or a program that waits, is
                                    asked to do, one file each
  worker-0-0/                       worker 0, generation 0: one folder per process
    events.jsonl                    its events
    stacks.jsonl                    where the thread that trains was, by samples
    events.columns                  copies of these, most of them as columns, to read faster
    placement-000.parquet           one per segment
    graph-000.parquet               the same graph with its edges, for `strategy_profiles.capture`
    window-000003/                  one per capture window, renamed into place when complete
      spans.parquet  replica_steps.parquet  core_steps.parquet
      collectives.parquet  transfers.parquet  causes.parquet
    .pending-000003.json            what a capture's conversion needs, until it is recorded
    merged-000000/                  copies of the windows 0 to 15, a file per table, to read faster
    contexts-000.parquet            contexts of a segment's first step, where asked for;
    contexts-000.json               the same as a recording to step through
    xplane/plugins/profile/...      raw captures, the layout that TensorBoard opens
    checkpoint/                     state at the end, or before the last change
    stdout.log  stderr.log
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

RUN_FILE = "run.json"
LAUNCHER_EVENTS = "launcher.jsonl"
WORKER_EVENTS = "events.jsonl"
WORKER_STACKS = "stacks.jsonl"
COLUMNS_FILE = "events.columns"
XPLANE_FOLDER = "xplane"
COMMANDS_FOLDER = "commands"
# Numbers with more digits (`limits.MOST_WORKERS`) are not a run's, and overflow in a table.
_WORKER = re.compile(r"worker-([0-9]{1,4})-([0-9]{1,9})")
_NUMBER = re.compile(r"\.(?:window|pending)-([0-9]{6,9})(?:\.json)?$")
_LAUNCHER = re.compile(r"launcher-([0-9]{1,4})\.jsonl")


class WorkerFolder(Struct, frozen=True, order=True):
    """The folder of one process."""

    path: Path
    worker: int
    generation: int

    @property
    def events(self) -> Path:
        return self.path / WORKER_EVENTS

    @property
    def stacks(self) -> Path:
        return self.path / WORKER_STACKS

    @property
    def xplane(self) -> Path:
        return self.path / XPLANE_FOLDER

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    def window(self, number: int) -> Path:
        return self.path / f"window-{number:06d}"

    def unconverted(self, number: int) -> Path:
        """Return the folder of a capture until it is converted."""
        return self.path / f".window-{number:06d}"

    def kept_capture(self, number: int) -> Path:
        """Return the folder of a raw capture that is kept, where TensorBoard looks for it."""
        return self.xplane / "plugins" / "profile" / f"window_{number:06d}"

    def pending(self, number: int) -> Path:
        """Return the path of what the conversion of a window needs."""
        return self.path / f".pending-{number:06d}.json"

    def all_unconverted(self) -> list[int]:
        """Return the numbers of the windows of which something is not converted."""
        paths = [*self.path.glob(".window-*"), *self.all_pending()]
        return sorted({int(match[1]) for path in paths if (match := _NUMBER.match(path.name))})

    def all_pending(self) -> list[Path]:
        return sorted(self.path.glob(".pending-*.json"))

    def contexts(self, segment: int) -> Path:
        """Return the path of the table of contexts; its recording is beside it as `.json`."""
        return self.path / f"contexts-{segment:03d}.parquet"

    def placement(self, segment: int) -> Path:
        return self.path / f"placement-{segment:03d}.parquet"

    def graph(self, segment: int) -> Path:
        return self.path / f"graph-{segment:03d}.parquet"


def launcher_file(run: Path, process: int = 0) -> Path:
    """Return the event file of a launcher: the only one, or that of a process with its own."""
    return run / (f"launcher-{process}.jsonl" if process else LAUNCHER_EVENTS)


def launcher_files(run: Path) -> list[Path]:
    """Return the existing event files of launchers, by process."""
    files = {0: run / LAUNCHER_EVENTS} if (run / LAUNCHER_EVENTS).exists() else {}
    for path in run.iterdir():
        match = _LAUNCHER.fullmatch(path.name)
        if match:
            files[int(match[1])] = path
    return [files[process] for process in sorted(files)]


def commands_folder(run: Path) -> Path:
    """Return the folder for commands to a launcher on another host; it may not exist."""
    return run / COMMANDS_FOLDER


def command_file(run: Path, number: int) -> Path:
    return commands_folder(run) / f"{number:06d}.json"


def worker_folder(run: Path, worker: int, generation: int = 0) -> WorkerFolder:
    return WorkerFolder(run / f"worker-{worker}-{generation}", worker, generation)


def worker_folders(run: Path) -> Iterator[WorkerFolder]:
    """Return the existing worker folders, by worker, then generation."""
    folders = []
    for path in run.iterdir():
        match = _WORKER.fullmatch(path.name)
        if match and path.is_dir():
            folders.append(WorkerFolder(path, int(match[1]), int(match[2])))
    return iter(sorted(folders, key=lambda folder: (folder.worker, folder.generation)))
