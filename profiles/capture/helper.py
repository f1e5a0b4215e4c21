"""The helper process that converts captures beside the training: no TensorFlow, lowest priority.

`python -m profiles.capture.helper [PARENT]` reads one JSON job per line on stdin, in order, and
answers each with one JSON line on stdout, the first with the processor time that it took to be
ready. It ends with its stdin or its parent, so it never outlives the worker.
A process of its own, because a conversion that shared the training's interpreter would hold its
lock for milliseconds at a time.
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

from strategy_lab.profiles.capture import xspace
from strategy_lab.profiles.capture.convert import WindowOf, convert, to_tables, write_tables
from strategy_lab.profiles.capture.graph import Graph
from strategy_lab.profiles.capture.joined import join
from strategy_lab.profiles.capture.python_samples import PythonSamples
from strategy_lab.profiles.errors import LabError

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
    """Under a TPU's strategy: devices by replica and core."""
    hosts: list[str] = field(default_factory=list)
    """Captures of a pod's hosts beside the coordinator's."""
    samples: dict[str, Any] = field(default_factory=dict)
    """Where Python was in this window: the fields of `PythonSamples`."""

    def run(self) -> dict[str, Any]:
        """Convert; the answer says what was found, or why it failed."""
        try:
            found = convert(
                Path(self.xplane),
                Path(self.graph) if self.graph else None,
                Path(self.folder),
                WindowOf(self.segment, self.worker),
                self.devices,
                self.core_devices,
                [Path(host) for host in self.hosts],
                PythonSamples(**self.samples),
            )
        except LabError as error:
            return {"number": self.number, "error": str(error)}
        except Exception as error:  # one bad capture must not cost the next
            return {"number": self.number, "error": f"{type(error).__name__}: {error}"}
        return {"number": self.number, "error": None, **asdict(found)}


def rehearse() -> None:
    """Convert an empty capture: what a first conversion has to load is loaded before one waits."""
    with tempfile.TemporaryDirectory() as folder:
        joined = join(xspace.decode(b""), Graph([], ["/device:CPU:0"]))
        write_tables(to_tables(joined, WindowOf(0, 0)), Path(folder) / "window")


def _lines() -> Iterator[bytes]:
    """Lines of stdin until its end, or until the worker is gone and nothing more is in it.

    A process that the user's code forked from the worker holds the other end of stdin open, too:
    the end of stdin alone might never come.
    """
    # Named by the parent, which may have ended before this process could look.
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
    # Ctrl-C reaches the whole terminal group; the worker then still waits for its last windows.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(19)
    rehearse()
    also = {"import_ms": time.process_time() * 1e3}
    for line in _lines():
        print(json.dumps(Job(**json.loads(line)).run() | also), flush=True)
        also = {}


if __name__ == "__main__":
    main()
