"""Calls and batches in progress, by thread."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from strategy_core.tracing.units import Unit

if TYPE_CHECKING:
    from strategy_core.recorder.step import RecordedStep


Count = Callable[[Any], int | None]
"""Returns the number of examples in a batch. Needs TensorFlow, which this module does not."""


class Call:
    """An outermost call of the program into TensorFlow, which may turn out to be a step.

    Its maker sets the attributes without a default: `__init__` would be one more call in each step.
    """

    unit: Unit
    caller: OfThread
    start_ns: int
    """Wall clock."""
    begin_ns: int
    """Monotonic clock."""
    # Class attributes as defaults: setting them per instance would cost time in every step.
    iterations: int | None = None
    """Of the unit's optimizer before the call, if one call may do several steps."""
    has_gradient = False
    """Whether a gradient was computed in it, of an eager step."""
    is_counted = False
    """Whether it was counted as a step, of an eager step."""
    fetched: Sequence[Fetched] = ()
    """Batches that were taken before it, once it is a part of a step, or an eager step."""
    ended_ns = 0
    """When the last part of it ended (monotonic clock), once it is a part of a step."""
    loss: Any = None
    """The scalar tensor that it has returned."""

    own_examples: int | None = None
    """Examples that it was given for each replica, whatever batch was taken before it."""

    @property
    def num_examples(self) -> int | None:
        """Examples that it was given, or of the first batch that was taken before it."""
        if self.own_examples is not None or not self.fetched:
            return self.own_examples
        return self.fetched[0].num_examples

    def first_began(self) -> tuple[int, int]:
        """When it or its first batch began, by the wall clock and the monotonic one."""
        began = [(each.start_ns, each.begin_ns) for each in self.fetched]
        return min([*began, (self.start_ns, self.begin_ns)], key=lambda at: at[1])


class Fetched:
    """A batch that the program takes, or has taken and not used in a step yet.

    Its maker sets the attributes without a default, as those of a `Call`.
    """

    caller: OfThread
    iterator: weakref.ref[Any]
    start_ns: int
    begin_ns: int
    step: RecordedStep | None = None
    """The step that began with it."""
    asking: AbstractContextManager[None] | None = None
    took_ns = 0
    num_examples: int | None = None


class OfThread:
    """What a thread does at the moment."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()

    call: Call | None = None
    eager: Call | None = None
    """The eager step that began last, until the next batch is taken."""
    is_fetching = False
    epoch_iterator: Any = None
    """Weak reference to Keras's iterator over an epoch that was made last."""


class Threads(threading.local):
    """Finds what the calling thread does. That takes microseconds in a step: keep what is found."""

    def __init__(self) -> None:
        self.this_thread = OfThread()
