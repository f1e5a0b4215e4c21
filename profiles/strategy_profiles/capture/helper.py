"""Helper process that converts captures during training, without TensorFlow, at lowest priority.

`python -m strategy_profiles.capture.helper [PARENT]` reads one JSON job per line from stdin, in
order, and writes one JSON line per job to stdout. The first answer includes the CPU time that the
process's start took (`import_ms`). The process ends when its stdin closes or its parent ends, so it
never outlives the worker.

The conversion needs its own process: in the training process it would hold the interpreter lock for
milliseconds at a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from strategy_profiles.capture import xspace
from strategy_profiles.capture.convert import WindowOf, convert, to_tables, write_tables
from strategy_profiles.capture.graph import Graph
from strategy_profiles.capture.joined import join
from strategy_profiles.capture.python_samples import PythonSamples
from strategy_profiles.errors import LabError
from strategy_profiles.run.event_columns import add_columns
from strategy_profiles.run.layout import WORKER_EVENTS
from strategy_profiles.tables.merged_windows import merge_windows
from strategy_profiles.tables.parquet_file import UnreadableTableError

_LOOK_AT_PARENT_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Job:
    """A capture to convert."""

    number: int
    xplane: str
    graph: str | None
    folder: str
    segment: int
    worker: int
    devices: list[str]
    core_devices: list[list[str]] = field(default_factory=list)
    """With TPUStrategy, the devices by replica and core."""
    hosts: list[str] = field(default_factory=list)
    """Captures of a TPU pod's hosts; `xplane` is then the coordinator's."""
    samples: dict[str, Any] = field(default_factory=dict)
    """Samples of the Python stack in this window: the fields of `PythonSamples`."""
    calls: dict[str, int] | None = None
    """The number of steps of each recorded call, by its first step."""

    def run(self) -> dict[str, Any]:
        """Convert the capture. Returns the fields of `Converted`, or the reason of a failure in
        `error`."""
        try:
            calls = None if self.calls is None else {int(k): n for k, n in self.calls.items()}
            converted = convert(
                Path(self.xplane),
                Path(self.graph) if self.graph else None,
                Path(self.folder),
                WindowOf(self.segment, self.worker, calls),
                self.devices,
                self.core_devices,
                [Path(host) for host in self.hosts],
                PythonSamples(**self.samples),
            )
        except LabError as error:
            return {"number": self.number, "error": str(error)}
        except Exception as error:  # a bad capture must not end the helper before the next job
            return {"number": self.number, "error": f"{type(error).__name__}: {error}"}
        return {"number": self.number, "error": None, **asdict(converted)}


def rehearse() -> None:
    """Convert an empty capture, so that lazy imports are done before the first job arrives."""
    with tempfile.TemporaryDirectory() as folder:
        joined = join(xspace.decode(b""), Graph([], ["/device:CPU:0"]))
        write_tables(to_tables(joined, WindowOf(0, 0)), Path(folder) / "window")


def _lines() -> Iterator[bytes]:
    """Yield the lines of stdin until it closes, or until the worker has ended and stdin is empty.

    The end of stdin alone is not enough: a process that the user's code forks from the worker
    inherits the write end of the pipe and keeps it open.
    """
    # The parent passes its process id: it may end before this process calls getppid().
    parent = int(sys.argv[1]) if len(sys.argv) > 1 else os.getppid()
    unread = b""
    while True:
        is_ready = select.select([0], [], [], _LOOK_AT_PARENT_EVERY_S)[0]
        if not is_ready:
            if os.getppid() != parent:
                return
            continue
        data = os.read(0, 1 << 16)
        if not data:
            return
        *lines, unread = (unread + data).split(b"\n")
        yield from lines


def main() -> None:
    # Ctrl-C signals the whole process group, but the worker still waits for its last windows.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    rehearse()
    also = {"import_ms": time.process_time() * 1e3}
    for line in _lines():
        job = Job(**json.loads(line))
        print(json.dumps(job.run() | also), flush=True)
        also = {}
        # A run whose copies could not be written reads more slowly, and is otherwise the same.
        window = Path(job.folder)
        with contextlib.suppress(OSError, UnreadableTableError):
            merge_windows(window)
        with contextlib.suppress(OSError):
            add_columns(window.with_name(WORKER_EVENTS))


if __name__ == "__main__":
    main()
