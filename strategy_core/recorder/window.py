"""One capture window: the profiler is on for a few steps, and leaves an XSpace file.

A profiler that is already on (somebody else's), or a disk that is full, costs the window, never
the training: the error is kept and told.
"""

from __future__ import annotations

import shutil
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf


@dataclass
class Window:
    """A window that is open, or was: its steps, its cost, its file."""

    number: int
    segment: int
    first_step: int
    num_steps: int
    scratch: Path
    """A folder of this window alone: the profiler names its files by the second."""
    start_ms: float = 0.0
    stop_ms: float = 0.0
    captured: int = 0
    error: str | None = None
    xplane: Path | None = field(default=None)

    def start(self) -> None:
        begin = time.perf_counter_ns()
        try:
            tf.profiler.experimental.start(str(self.scratch), profiler_options())
        except Exception as error:  # whatever the profiler says, training goes on
            self.error = f"The profiler did not start: {_first_line(error)}"
        self.start_ms = (time.perf_counter_ns() - begin) / 1e6

    def annotate(self, step: int) -> AbstractContextManager[Any]:
        """Marks one step in the capture, in the way that XProf knows steps."""
        self.captured += 1
        return tf.profiler.experimental.Trace("train", step_num=step, _r=1)

    @property
    def is_full(self) -> bool:
        return self.captured >= self.num_steps

    def stop(self) -> None:
        """Stop the profiler; afterwards `xplane` is the file, or `error` says why there is none."""
        if self.error is not None:
            return  # it never started: one that is running is somebody else's
        begin = time.perf_counter_ns()
        try:
            tf.profiler.experimental.stop()
        except Exception as error:
            self.error = f"The profiler did not stop cleanly: {_first_line(error)}"
        self.stop_ms = (time.perf_counter_ns() - begin) / 1e6
        if self.error is None:
            self.xplane = next(self.scratch.rglob("*.xplane.pb"), None)
            if self.xplane is None:
                self.error = "The profiler left no file (is the disk full?)"

    def discard(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)


def profiler_options() -> Any:
    return tf.profiler.experimental.ProfilerOptions(
        host_tracer_level=2, python_tracer_level=0, device_tracer_level=1
    )


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]
