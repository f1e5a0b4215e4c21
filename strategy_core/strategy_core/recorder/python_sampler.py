"""Samples the Python stack of the thread that runs the steps while a capture window is open.

A capture shows what TensorFlow does. The program's own Python between two calls leaves no event in
it, yet causes most idle time. `sys._current_frames` is CPython's documented access to another
thread's stack; faulthandler and py-spy show the same stack. One sample takes about 20 microseconds
of Python's lock.
"""

from __future__ import annotations

import linecache
import sys
import threading
import time
from contextlib import nullcontext
from types import FrameType
from typing import Any, NamedTuple

from strategy_core.private_tf.frame_names import (
    is_collective_key,
    is_conversion_of_arguments,
    is_execution,
)
from strategy_core.recorder.stack_roles import line_of
from strategy_core.runtime import switch_interval
from strategy_core.runtime.gc_control import postponed
from strategy_core.runtime.library_files import (
    is_framework_file,
    is_lab_file,
    is_library_file,
    is_program_file,
)
from strategy_core.runtime.source_place import source_place

EVERY_S = 0.002
SWITCH_S = 0.001
"""Switch interval while sampling: a thread that runs Python releases the lock after this time.

Python's default of 5 ms would hide most of what happens in a step of 10 ms: with it, a loop of 8 ms
was attributed to the call before it. A sample counts for the time since the previous sample,
because a thread that runs Python delays the sampler until it releases the lock.
"""
LATE_S, SWITCH_AFTER_LATE_S, MOST_SINCE_LATE = 0.004, 0.00001, 100
"""A sample that was taken so late shortens the switch interval to the second time for the next
samples, so many of them.

A thread that lets the lock go again and again for microseconds, as one that makes tensors does,
keeps all others from it: each time, their wait of the interval begins again. In 2 s of
`tf.convert_to_tensor`, a thread that slept for 2 ms at a time woke 16 times with an interval of
1 ms, 37 times with 0.05 ms, 390 times with 0.01 ms. So the 7 ms in which Python makes the keys of
62 collectives had no sample in three steps, and the execution after it had all. It is not
always in force: beside a thread that runs Python, calls of a small function were 160 a second with
Python's 5 ms, 560 with 1 ms, 900 to 2,000 with 0.01 ms.
"""
MOST_SAMPLES = 20_000
_NO_COLLECTION = postponed() if sys.version_info < (3, 12) else nullcontext()
"""Context in which the sampler may walk another thread's frames.

Python 3.11 makes frame objects when they are asked for, by `_current_frames` and `f_back`. The
allocation can start a garbage collection, whose finalizers and callbacks release Python's lock. The
other thread then leaves the frame that the object is being made for, and the sampler reads freed
memory. From 3.12 on, a collection starts between two instructions only.
"""
_LINE_CHARACTERS = 100
_MAX_FRAMES = 200
"""Limit on the frames that one sample looks at, so that a deep recursion does not prolong it."""

# Methods that copy a tensor to the host.
_READ_BACK = frozenset(
    {"numpy", "_numpy", "__array__", "__float__", "__int__", "__bool__", "__index__", "__format__"}
)
_TRACING = "func_graph_from_py_func"
"""TensorFlow's function that runs Python to build a graph."""


class Place(NamedTuple):
    """Where a sample found the thread."""

    kind: str
    """As in `strategy_profiles.tables.schema.CAUSES`, or `execute`."""
    path: str
    line: int
    """Of the program, or of a library if no frame of the program was found."""


def warm_up() -> None:
    """Find the folders of libraries, which takes a millisecond, before a step is sampled."""
    is_library_file(__file__)


class PythonSampler:
    """Samples the calling thread's stack from another thread, from `start` to `stop`."""

    _num_since_late = MOST_SINCE_LATE
    """Samples since the last late one, of this window or an earlier one: a window may be a step."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True, name="python-sampler")
        self._at_ns: list[int] = []
        self._place: list[int] = []
        self._places: dict[Place, int] = {}

    def start(self) -> None:
        self._watcher.start()

    def stop(self) -> None:
        """Stop sampling, without waiting for a sample in progress."""
        self._stopping.set()

    def samples(self) -> dict[str, Any]:
        """The samples, with the fields of
        `strategy_profiles.capture.python_samples.PythonSamples`."""
        if self._watcher.ident is not None:
            self._watcher.join()
        return {
            "at_ns": self._at_ns,
            "place": self._place,
            "places": [_place_texts(*place) for place in self._places],
        }

    def _watch(self) -> None:
        while len(self._at_ns) < MOST_SAMPLES:
            switch_s = SWITCH_S if self._num_since_late >= MOST_SINCE_LATE else SWITCH_AFTER_LATE_S
            switch_interval.shorten(switch_s)
            began_s = time.perf_counter()
            is_over = self._stopping.wait(EVERY_S)
            is_late = time.perf_counter() - began_s >= LATE_S
            switch_interval.restore(switch_s)
            if is_over or not self._look():
                return
            PythonSampler._num_since_late = 0 if is_late else self._num_since_late + 1

    def _look(self) -> bool:
        """Take one sample; False if the thread has ended."""
        with _NO_COLLECTION:
            frame = sys._current_frames().get(self._thread)
            if frame is None:
                return False
            self._at_ns.append(time.time_ns())
            place = place_of(frame)
        self._place.append(self._places.setdefault(place, len(self._places)))
        return True


def place_of(frame: FrameType) -> Place:
    """Classify what a thread is doing, with the innermost line of the program on its stack.

    The program is any code outside of Python's library, installed packages and the lab. A thread
    that builds a graph is `tracing`; see `_kind` for the others.
    """
    kind, innermost, program = "", frame, None
    current: FrameType | None = frame
    for _ in range(_MAX_FRAMES):  # to the outermost frame: tracing may have begun far out
        if current is None:
            break
        path, name = current.f_code.co_filename, current.f_code.co_name
        if name == _TRACING:
            kind = "tracing"
        if program is None and is_program_file(path):
            program = current
        current = current.f_back
    if not kind:
        kind = _kind(innermost, program)
    reported = program or innermost
    return Place(kind, reported.f_code.co_filename, line_of(reported))


def _place_texts(kind: str, path: str, line: int) -> list[str]:
    """The kind, the line as `source_place` names it, and its source text."""
    text = linecache.getline(path, line).strip()[:_LINE_CHARACTERS]
    return [kind, source_place(path, line), text]


def _kind(innermost: FrameType, program: FrameType | None) -> str:
    """Classify by the frames between the program's innermost line and the top of the stack.

    Returns `read-back` (a tensor is copied to the host), `collective-key`, `argument` (the
    arguments of a call become tensors), `execute` (the runtime has been given a function), `call`
    (TensorFlow's, Keras's or the lab's Python) or `python` (the program's own).
    """
    if is_execution(innermost.f_code.co_name):
        return "execute"
    is_tensorflow = is_read_back = False
    current: FrameType | None = innermost
    while current is not None and current is not program:
        path, name = current.f_code.co_filename, current.f_code.co_name
        if is_lab_file(path):
            return "call"  # what the lab itself reads is no work of the program
        if is_framework_file(path):
            if is_collective_key(name):
                return "collective-key"  # the lab calls the function of a traced program's step
            if is_conversion_of_arguments(name):
                return "argument"
            is_read_back |= name in _READ_BACK
            is_tensorflow = True
        current = current.f_back
    if is_read_back:
        return "read-back"
    return "call" if is_tensorflow or program is None else "python"
