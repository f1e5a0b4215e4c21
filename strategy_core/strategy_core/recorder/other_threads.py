"""Which other Python threads of the program compute while one thread trains?

Only one thread at a time runs Python. A thread of the program that makes batches, or watches
something, keeps the training thread waiting for the interpreter's lock after each call that has
let it go: for 5 ms each time, Python's switch interval. The stack of the training thread shows
nothing of that. So the processor time of the others is read from the system, every few seconds.

It is read by the number of the thread, not by `time.pthread_getcpuclockid`: that function reads
memory of the thread, which may have ended.
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType

from strategy_core.private_tf.frame_names import is_library
from strategy_core.recorder.stack_roles import Role
from strategy_profiles.run.event_parts import LONGEST_LINE, StackFrame, ThreadTime

TASKS = Path("/proc/self/task")
MOST_THREADS = 16
"""Threads of which the time is kept, those that computed most."""
LEAST_US = 10_000
"""A thread that computed for less since the last look is left out."""


class OtherThreads:
    """The processor time of Python threads since the last look at them."""

    def __init__(self, role_of: Callable[[CodeType], Role], tasks: Path = TASKS) -> None:
        self._role_of = role_of
        self._tasks = tasks
        self._used_us: dict[int, int] = {}

    def since_last_look(
        self, frames: Mapping[int, FrameType], without: Container[int | None]
    ) -> list[ThreadTime]:
        """The threads that run a function of the program, but for some, the busiest first."""
        found = []
        for thread in threading.enumerate():
            number = thread.native_id
            if thread.ident is None or number is None or thread.ident in without:
                continue
            used_us = _used_us(self._tasks / str(number) / "schedstat")
            if used_us is None:
                continue
            spent_us = used_us - self._used_us.get(number, 0)
            self._used_us[number] = used_us
            frame = frames.get(thread.ident)
            if frame is None or spent_us < LEAST_US or is_library(type(thread).__module__):
                continue
            if (line := self._line(frame)) is not None:
                found.append(ThreadTime(thread.name, spent_us, line))
        return sorted(found, key=lambda each: -each.cpu_us)[:MOST_THREADS]

    def _line(self, frame: FrameType) -> StackFrame | None:
        """The outermost line of the program; None of a thread that is not the program's.

        A thread that TensorFlow made runs Python for an op (`py_function`), which is a part of the
        graph: Python knows it, but has not begun it.
        """
        outermost = [*_outwards(frame)][::-1]
        if outermost[0].f_code.co_filename != threading.__file__:
            return None
        for each in outermost:
            role = self._role_of(each.f_code)
            if role.origin == "lab":
                return None
            if role.origin == "program":
                code = each.f_code
                file, line = code.co_filename, each.f_lineno or code.co_firstlineno
                text = linecache.getline(file, line).strip()[:LONGEST_LINE]
                return StackFrame(file, line, code.co_qualname, text)
        return None


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _used_us(file: Path) -> int | None:
    """Processor time of a thread; None if it has ended, or the system does not say."""
    try:
        return int(file.read_bytes().split()[0]) // 1000
    except (OSError, ValueError, IndexError):
        return None
