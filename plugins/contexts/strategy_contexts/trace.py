"""The trace of contexts: one entry per context entered and per call that crosses one.

An entry opens when control enters and closes when it leaves. `seq` and `end_seq` come from one
counter over all threads, so the order of all entries and exits can be replayed exactly. Each thread
has its own stack (MirroredStrategy gives every replica a thread). The first entry of a replica
thread is a child of the call that started the replicas.

Contexts exist at tracing time: inside a `tf.function` they are recorded while it is traced, and
`phase` says so. Later steps run the traced graph and switch no contexts.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

import tensorflow as tf

from strategy_contexts import private_tf
from strategy_contexts.values import ValueSeen, describe
from strategy_core.runtime.library_files import is_library_file
from strategy_core.runtime.replica import replica_number

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the user's program; `file` is "" if no user code is on the stack."""

    file: str
    line: int
    function: str


NOWHERE = Line("", 0, "")


def callers_line(known: private_tf.SourceMap) -> Line:
    """The innermost line on this thread's stack that is in neither a library nor the tracer.

    `known` maps AutoGraph's generated lines to the user's. It is collected where replicas start,
    and grows here.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file, line, function = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        if "__autograph_generated_file" in file:
            if (file, line) not in known:  # looked up once: this thread's map is large
                known |= private_tf.source_map()
            origin = known.setdefault((file, line), ("<generated>", 0, ""))
            file, line, function = origin
        if is_users(file):
            return Line(file, line, function)
        frame = frame.f_back
    return NOWHERE


@lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Whether a source file is the user's: not standard library, installed package or the lab."""
    if file.startswith("<"):
        return False
    path = Path(file).resolve()
    return path.parent != _HERE and not is_library_file(str(path))


@dataclass(frozen=True, slots=True)
class Printed:
    """A line that the traced program printed, ordered among the entries."""

    seq: int
    text: str
    parent: int | None
    context: str
    replica: int | None


@dataclass(slots=True)
class Entry:
    """One row of the `contexts` table.

    `context` and `replica` are what tf.distribute answers where the call is made, or, for an entry
    that enters a context, right after entering it.
    """

    seq: int
    thread: str
    context: str
    replica: int | None
    call: str
    source: Line
    depth: int
    parent: int | None
    phase: str
    """`eager`, or `tracing` while a tf.function is being traced."""
    switch: bool
    """True if control entered another context; False for a call within the current one."""
    strategy: str
    values_in: list[tuple[str, ValueSeen]] = field(default_factory=list)
    value_out: ValueSeen | None = None
    end_seq: int | None = None
    error: str | None = None


class ContextTrace:
    """The entries of a trace. Safe to read once the tracer is off."""

    def __init__(self, *, describe_values: bool = True) -> None:
        self.entries: list[Entry] = []
        self.printed: list[Printed] = []
        self._describe_values = describe_values
        self._counter = itertools.count()
        self._lock = threading.Lock()
        self._local = threading.local()
        self._launching: list[Entry] = []
        self._source_map: private_tf.SourceMap = {}

    def open(
        self,
        call: str,
        *,
        entered: bool = False,
        values: dict[str, Any] | None = None,
        parent: Entry | None = None,
        by_tensorflow: bool = False,
    ) -> Entry:
        """Open an entry in the current context, which the call has just `entered` or stays in."""
        stack = self._stack()
        above = parent or (stack[-1] if stack else self._launching[-1] if self._launching else None)
        context, replica = current_context()
        entry = Entry(
            seq=next(self._counter),
            thread=threading.current_thread().name,
            context=context,
            replica=replica,
            call=call,
            source=self._source(above, inherit=by_tensorflow or bool(parent) or not stack),
            depth=above.depth + 1 if above else 0,
            parent=above.seq if above else None,
            phase="eager" if tf.executing_eagerly() else "tracing",
            switch=entered and not (above and (above.context, above.replica) == (context, replica)),
            strategy=type(tf.distribute.get_strategy()).__name__,
            values_in=self.described(values or {}),
        )
        with self._lock:
            self.entries.append(entry)
        stack.append(entry)
        return entry

    def close(
        self,
        entry: Entry,
        result: Any = None,
        error: BaseException | None = None,
        beside: Any = None,
    ) -> None:
        """Close an entry with a result or an error.

        A result with the devices of the variable `beside` has the locality V(v).
        """
        stack = self._stack()
        if entry in stack:
            del stack[stack.index(entry) :]
        if error is not None:
            entry.error = f"{type(error).__name__}: {error}"
        elif result is not None and self._describe_values:
            with self.paused():
                entry.value_out = describe(result, beside)
        entry.end_seq = next(self._counter)

    def print(self, text: str) -> None:
        """Record a line of output at this point of the trace."""
        stack = self._stack()
        parent = stack[-1].seq if stack else None
        self.printed.append(Printed(next(self._counter), text, parent, *current_context()))

    @contextmanager
    def entered(self, call: str, **about: Any) -> Iterator[Entry]:
        """Context manager that opens and closes an entry; records an error and re-raises it."""
        entry = self.open(call, **about)
        try:
            yield entry
        except BaseException as error:
            self.close(entry, error=error)
            raise
        if entry.end_seq is None:
            self.close(entry)

    @contextmanager
    def launching(self, entry: Entry) -> Iterator[None]:
        """Context manager in which replica threads that start become children of `entry`."""
        self._source_map |= private_tf.source_map()
        self._launching.append(entry)
        try:
            yield
        finally:
            self._launching.pop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Context manager that records nothing on this thread, for the tracer's own TensorFlow
        calls."""
        before = self.is_paused
        self._local.paused = True
        try:
            yield
        finally:
            self._local.paused = before

    def replica_here(self) -> Entry | None:
        """The innermost entry of this thread, if it is a replica that was entered."""
        stack = self._stack()
        return stack[-1] if stack and stack[-1].context == "replica" and stack[-1].switch else None

    @property
    def is_paused(self) -> bool:
        return getattr(self._local, "paused", False)

    def _source(self, above: Entry | None, *, inherit: bool) -> Line:
        # TensorFlow, not the user, enters a replica or a merge function; the user's line is that of
        # the call that made it do so.
        if above and inherit:
            return above.source
        line = callers_line(self._source_map)
        return above.source if above and not line.line else line

    def _stack(self) -> list[Entry]:
        if not hasattr(self._local, "stack"):
            self._local.stack = []
        stack: list[Entry] = self._local.stack
        return stack

    def described(self, values: dict[str, Any]) -> list[tuple[str, ValueSeen]]:
        """Values with their names, as an entry keeps them."""
        if not self._describe_values:
            return []
        with self.paused():
            return [(name, describe(value)) for name, value in values.items()]


def current_context() -> tuple[str, int | None]:
    """This thread's current context as tf.distribute answers, and its replica's number if any."""
    if private_tf.in_update_context():
        return "update", private_tf.update_replica_id()
    if tf.distribute.in_cross_replica_context():
        return "cross-replica", None
    context = tf.distribute.get_replica_context()
    if context is private_tf.default_replica_context():
        return "default", None
    return "replica", replica_number(context)
