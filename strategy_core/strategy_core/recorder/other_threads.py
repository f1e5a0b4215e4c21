"""What do other threads run of the program while one thread trains?

Only one thread at a time runs Python. A thread of the program that makes batches, or watches
something, keeps the training thread waiting for the interpreter's lock after each call that has
let it go: for 5 ms each time, Python's switch interval. The stack of the training thread shows
nothing of that. So the processor time of the others is read from the system, every few seconds.

Ops that run Python (`py_function`, `from_generator`) do so in threads of TensorFlow, which are
Python's only meanwhile. Where they are is seen in each sample of the training thread.

The time is read by the number of the thread, not by `time.pthread_getcpuclockid`: that function
reads memory of the thread, which may have ended.
"""

from __future__ import annotations

import linecache
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType

from strategy_core.private_tf.frame_names import is_library
from strategy_core.recorder.stack_roles import Role, line_of
from strategy_profiles.run.event_parts import LONGEST_LINE, LineInOp, StackFrame, ThreadTime

TASKS = Path("/proc/self/task")
MOST_THREADS = 16
"""Threads of which the time is kept, those that computed most; and lines of ops."""
LEAST_US = 10_000
"""A thread that computed for less since the last look is left out."""


class OtherThreads:
    """The processor time of Python threads since the last look at them."""

    def __init__(self, role_of: Callable[[CodeType], Role], tasks: Path = TASKS) -> None:
        self._role_of = role_of
        self._tasks = tasks
        self._used_us: dict[int, int] = {}
        self._in_ops: Counter[tuple[CodeType, int]] = Counter()
        """Samples by function and line of the program."""

    def look_into_ops(self, frames: Mapping[int, FrameType], without: Container[int]) -> None:
        """Count the lines at which ops run Python, in threads that TensorFlow made."""
        stacks = (frame for thread, frame in frames.items() if thread not in without)
        self._in_ops.update({line for each in stacks if (line := self._line_in_op(each))})

    def _line_in_op(self, frame: FrameType) -> tuple[CodeType, int] | None:
        line = None
        for each in _outwards(frame):
            if line is None and self._role_of(each.f_code).origin == "program":
                line = each.f_code, line_of(each)
            outermost = each
        return None if outermost.f_code.co_filename == threading.__file__ else line

    def in_ops(self) -> list[LineInOp]:
        """The lines that were counted since the last call, those with most samples first."""
        counts, self._in_ops = self._in_ops.most_common(MOST_THREADS), Counter()
        return [LineInOp(_frame_at(code, line), number) for (code, line), number in counts]

    def since_last_look(
        self, frames: Mapping[int, FrameType], without: Container[int | None]
    ) -> list[ThreadTime]:
        """The threads that run a function of the program, but for some, the busiest first."""
        busy = []
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
                busy.append(ThreadTime(thread.name, spent_us, line))
        return sorted(busy, key=lambda each: -each.cpu_us)[:MOST_THREADS]

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
                return _frame_at(each.f_code, line_of(each))
        return None


def _frame_at(code: CodeType, line: int) -> StackFrame:
    text = linecache.getline(code.co_filename, line).strip()[:LONGEST_LINE]
    return StackFrame(code.co_filename, line, code.co_qualname, text)


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
