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
from strategy_profiles.capture import event_names

_ALREADY_RUNNING = "Another profiler is running"
_POLL_S = 0.0005
_LOWEST_PRIORITY = 19
LAST_EVENTS_S = 0.002
"""Wait between the last captured step and the profiler's stop.

A collective tells the step that it is done before its own event is complete. Without the wait, one
window in eight lacked an event of its last step (docs/decisions/numbers.md).
"""


class Window:
    """One window: its steps, its cost and its file.

    `scratch` is a folder for this window alone, because the profiler names its files by the second.
    """

    drains = False
    """Whether to wait at both ends until the devices have done what was launched: the steps of a
    GPU's program return before their kernels have run."""
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
        self.drained_ns = 0
        """When the devices had nothing left to do (monotonic clock), the last time."""
        self.synced: tuple[int, float] | None = None
        """Steps since the devices had nothing to do before, and the milliseconds they took."""
        self.calls: dict[int, int] = {}
        """Number of steps of each captured call, by its first step."""
        self.error: str | None = None
        self._session: Any = None
        self._thread: threading.Thread | None = None
        self._export_ms = 0.0
        """Processor time of the thread that takes the events out and writes them."""

    def start(self) -> None:
        """Start the profiler. Sets `start_ms`, how long that took, and `error` if it fails."""
        self.drain()
        begin = time.perf_counter_ns()
        try:
            self._start_session()
        except Exception as error:  # no profiler error may end the training
            is_other = isinstance(error, tf.errors.AlreadyExistsError)
            what = _ALREADY_RUNNING if is_other else "The profiler did not start"
            self.error = f"{what}: {first_line(error)}"
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
        """Stop the profiler `after_s` from now. Sets `stop_ms`, which includes that.

        Returns when the events have left the runtime. A thread writes them: half of the time of
        `tf.profiler.experimental.stop`, 150 ms for three steps of ResNet50.
        """
        if self.error is not None:
            return  # it never started; a running profiler belongs to the program
        self.drain()
        begin = time.perf_counter_ns()
        if after_s:
            self.sleep(after_s)
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()
        self.wait_for_runtime()
        self.stop_ms = (time.perf_counter_ns() - begin) / 1e6

    def drain(self) -> None:
        """Wait until the devices have nothing left to do, if the window `drains`."""
        if self.drains:
            with contextlib.suppress(Exception):  # an error of the program's is the program's
                tf.test.experimental.sync_devices()
        self.drained_ns = time.monotonic_ns()

    @property
    def is_written(self) -> bool:
        """Whether the capture is complete, or `error` says why it is missing."""
        return self._thread is None or not self._thread.is_alive()

    def wait(self) -> None:
        """Wait until the capture is written, at the priority of the caller."""
        if self._thread is not None:
            self._set_priority(os.getpriority(os.PRIO_PROCESS, 0))
            self._thread.join()

    @property
    def write_ms(self) -> float:
        """Processor time of the writing beyond `stop_ms`, once the capture is written."""
        return max(0.0, self._export_ms - self.stop_ms)

    def step_back(self) -> None:
        """Lower the writer thread's priority once the events have left the runtime."""
        self._set_priority(_LOWEST_PRIORITY)

    def xplane(self) -> Path | None:
        """Path of the capture; None, with `error` set, if it is missing."""
        xplane = (
            None if self.error else next((self.scratch / self.subfolder).rglob("*.xplane.pb"), None)
        )
        if xplane is None and self.error is None:
            self.error = "The profiler left no file (is the disk full?)"
        return xplane

    def of_hosts(self) -> list[Path]:
        """Captures of other processes that belong to this window."""
        return []

    def discard(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _start_session(self) -> None:
        # No ProfilerOptions: TensorFlow 2.21 logs that it "expects an i value" and uses none of
        # them. With host_tracer_level 0 or 1 it records at level 2 all the same.
        self._session = private_tf.profiler_session()
        self._session.start(str(self.scratch / self.subfolder), {})
        private_tf.leave_out_thread_pool_events()

    def wait_for_runtime(self) -> None:
        """Wait until the runtime has given the events out, so that the next step is not in them."""
        while not self.is_written and private_tf.has_profiler_session():
            time.sleep(_POLL_S)
        self.step_back()

    def _set_priority(self, priority: int) -> None:
        if self._thread is not None and self._thread.native_id is not None:
            with contextlib.suppress(OSError):  # it has ended, or only root may raise it
                os.setpriority(os.PRIO_PROCESS, self._thread.native_id, priority)

    def _write(self) -> None:
        try:
            self._session.export_to_tb()
        except Exception as error:
            self.error = f"The profiler did not stop cleanly: {first_line(error)}"
        self._export_ms = time.thread_time() * 1e3


class FollowedWindow(Window):
    """A window that the next one follows without a gap; its capture is written beside that one.

    `before` is the previous window. Only one profiler session can exist at a time, and the session
    of `before` lasts until its events have left the runtime. `start` retries until then,
    and fails if a session still exists after `before` is written.
    """

    def __init__(self, *args: Any, before: Window | None) -> None:
        super().__init__(*args)
        self._before = before

    def start(self) -> None:
        self.drain()
        begin = time.perf_counter_ns()
        before, self._before = self._before, None
        while True:
            may_retry = before is not None and not before.is_written
            try:
                self._start_session()
                break
            except Exception as error:
                if not may_retry:
                    self.error = f"{_ALREADY_RUNNING}: {first_line(error)}"
                    break
            time.sleep(_POLL_S)
        if before is not None:
            before.step_back()
        self.start_ms = (time.perf_counter_ns() - begin) / 1e6

    def wait_for_runtime(self) -> None:
        """Not before the next window, which waits for it."""


def first_line(error: BaseException) -> str:
    """An error's type and message in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]
