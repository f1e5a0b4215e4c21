"""Calls and batches in progress, by thread."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from strategy_core.tracing.units import Unit

if TYPE_CHECKING:
    from strategy_core.recorder.step import RecordedStep


Count = Callable[[Any], int | None]
"""Returns the number of examples in a batch. Needs TensorFlow, which this module does not."""


class Call:
    """An outermost call of the program into TensorFlow, which may turn out to be a step."""

    __slots__ = (
        "begin_ns", "ended_ns", "fetched", "has_gradient", "is_counted", "iterations", "loss",
        "start_ns", "thread", "unit",
    )  # fmt: skip

    def __init__(self, unit: Unit, thread: threading.Thread) -> None:
        self.unit = unit
        self.thread = thread
        self.start_ns, self.begin_ns = time.time_ns(), time.monotonic_ns()
        self.iterations: int | None = None
        """Of the unit's optimizer before the call, if one call may do several steps."""
        self.has_gradient = False
        """Whether a gradient was computed in it, of an eager step."""
        self.is_counted = False
        """Whether it was counted as a step, of an eager step."""
        self.fetched: list[Fetched] = []
        """Batches that were taken before it, once it is a part of a step, or an eager step."""
        self.ended_ns = 0
        """When the last part of it ended (monotonic clock), once it is a part of a step."""
        self.loss: Any = None
        """The scalar tensor that it has returned."""

    @property
    def num_examples(self) -> int | None:
        """Examples of the first batch that was taken before it."""
        return self.fetched[0].num_examples if self.fetched else None

    def first_began(self) -> tuple[int, int]:
        """When it or its first batch began, by the wall clock and the monotonic one."""
        began = [(each.start_ns, each.begin_ns) for each in self.fetched]
        return min([*began, (self.start_ns, self.begin_ns)], key=lambda at: at[1])


class Fetched:
    """A batch that the program takes, or has taken and not used in a step yet."""

    __slots__ = (
        "asking", "begin_ns", "count", "iterator", "num_examples", "start_ns", "step", "took_ns",
    )  # fmt: skip

    def __init__(self, iterator: Any, count: Count) -> None:
        self.iterator = weakref.ref(iterator)
        self.count = count
        self.step: RecordedStep | None = None
        """The step that began with it."""
        self.asking: AbstractContextManager[None] | None = None
        self.took_ns = 0
        self.num_examples: int | None = None
        self.start_ns, self.begin_ns = time.time_ns(), time.monotonic_ns()


class OfThread(threading.local):
    """What this thread does at the moment."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()

    call: Call | None = None
    eager: Call | None = None
    """The eager step that began last, until the next batch is taken."""
    scheduled: Call | None = None
    """The first of the calls that a `ClusterCoordinator` has been given since its last `join`."""
    num_scheduled = 0
    """How many of them are steps."""
    is_fetching = False
    epoch_iterator: Any = None
    """Weak reference to Keras's iterator over an epoch that was made last."""
