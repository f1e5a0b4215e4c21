"""One capture window: runs the profiler for a few steps and leaves an XSpace file.

If another profiler is already running, or the disk is full, the window fails with an `error` but
the training goes on.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import engine as private_tf
from strategy_lab.profiles.capture import event_names

_ALREADY_RUNNING = "Another profiler is running"
_POLL_S = 0.0005
LAST_EVENTS_S = 0.002
"""Wait between the last captured step and the profiler's stop.

A collective tells the step that it is done before its own event is complete. Without the wait, one
window in eight lacked an event of its last step (docs/decisions/attribution.md).
"""


class Window:
    """One window: its steps, its cost and its file.

    `scratch` is a folder for this window alone, because the profiler names its files by the second.
    """

    subfolder = ""
    """Where in `scratch` this process's own profiler writes."""
    sleep = staticmethod(time.sleep)

    def __init__(
        self,
        number: int,
        segment: int,
        first_step: int,
        num_steps: int,
        scratch: Path,
    ) -> None:
        self.number = number
        self.segment = segment
        self.first_step = first_step
        self.num_steps = num_steps
        self.scratch = scratch
        self.start_ms = 0.0
        self.stop_ms = 0.0
        self.captured = 0
        self.calls: dict[int, int] = {}
        """Number of steps of each captured call, by its first step."""
        self.error: str | None = None

    def start(self) -> None:
        """Start the profiler. Sets `start_ms`, how long that took, and `error` if it fails."""
        begin = time.perf_counter_ns()
        try:
            # No ProfilerOptions: TensorFlow 2.21 logs that it "expects an i value" and uses none of
            # them. With host_tracer_level 0 or 1 it records at level 2 all the same.
            tf.profiler.experimental.start(str(self.scratch / self.subfolder))
            private_tf.leave_out_thread_pool_events()
        except Exception as error:  # no profiler error may end the training
            self.error = f"The profiler did not start: {first_line(error)}"
        self.start_ms = (time.perf_counter_ns() - begin) / 1e6

    def annotate(self, step: int) -> AbstractContextManager[Any]:
        """Mark one step in the capture in the way that XProf recognises steps."""
        return tf.profiler.experimental.Trace(event_names.STEP, step_num=step, _r=1)

    def add(self, step: int, num_steps: int) -> None:
        """Count what was captured: one call, with so many steps of the program."""
        self.captured += num_steps
        self.calls[step] = num_steps

    @property
    def is_full(self) -> bool:
        return self.captured >= self.num_steps

    def stop(self, *, after_s: float = 0.0) -> None:
        """Stop the profiler `after_s` from now, and write the capture. Sets `stop_ms`, which
        includes that."""
        if self.error is not None:
            return  # it never started; a running profiler belongs to the program
        begin = time.perf_counter_ns()
        if after_s:
            self.sleep(after_s)
        self._write(tf.profiler.experimental.stop)
        self.stop_ms = (time.perf_counter_ns() - begin) / 1e6

    @property
    def is_written(self) -> bool:
        """Whether the capture is complete, or `error` says why it is missing."""
        return True

    def wait(self) -> None:
        """Wait until the capture is written."""

    def xplane(self) -> Path | None:
        """Path of the capture; None, with `error` set, if it is missing."""
        found = (
            None if self.error else next((self.scratch / self.subfolder).rglob("*.xplane.pb"), None)
        )
        if found is None and self.error is None:
            self.error = "The profiler left no file (is the disk full?)"
        return found

    def of_hosts(self) -> list[Path]:
        """Captures of other processes that belong to this window."""
        return []

    def discard(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _write(self, export: Any) -> None:
        try:
            export()
        except Exception as error:
            self.error = f"The profiler did not stop cleanly: {first_line(error)}"


class FollowedWindow(Window):
    """A window that the next one follows without a gap; its capture is written beside that one.

    `before` is the previous window. Only one profiler session can exist at a time, and the session
    of `before` lasts until its events have left the runtime. `start` retries until then,
    and fails if a session still exists after `before` is written.

    What does not work: `tf.profiler.experimental.stop` and `start` in turns. `stop` returns when
    the capture is converted and written, about 3 ms per captured step, and the training waits.
    Nothing tells when the events have left the runtime, so `start` has to try.
    """

    def __init__(self, *args: Any, before: Window | None) -> None:
        super().__init__(*args)
        self._before = before
        self._session: Any = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        begin = time.perf_counter_ns()
        before, self._before = self._before, None
        while True:
            may_retry = before is not None and not before.is_written
            self._session = private_tf.profiler_session()
            try:
                self._session.start(str(self.scratch), {})
                private_tf.leave_out_thread_pool_events()
                break
            except Exception as error:
                if not may_retry:
                    self.error = f"{_ALREADY_RUNNING}: {first_line(error)}"
                    break
            time.sleep(_POLL_S)
        if isinstance(before, FollowedWindow):
            before.step_back()
        self.start_ms = (time.perf_counter_ns() - begin) / 1e6

    def stop(self, *, after_s: float = 0.0) -> None:
        if self.error is not None:
            return
        begin = time.perf_counter_ns()
        if after_s:
            self.sleep(after_s)
        self._thread = threading.Thread(
            target=self._write, args=(self._session.export_to_tb,), daemon=True
        )
        self._thread.start()
        self.stop_ms = (time.perf_counter_ns() - begin) / 1e6

    @property
    def is_written(self) -> bool:
        return self._thread is None or not self._thread.is_alive()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def step_back(self) -> None:
        """Lower the writer thread's priority once the events have left the runtime."""
        if self._thread is not None and self._thread.native_id is not None:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._thread.native_id, 19)


def first_line(error: BaseException) -> str:
    """An error's type and message in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]
