"""Steps of eager loops: a gradient that is computed outside of other calls.

Nothing in an eager program says where a step begins and ends. A step lasts from the batch, or from
the `GradientTape`'s begin if no batch was taken, to the end of the last gradient or of the
optimizer's update after it. It is closed when the next batch is taken or the same tape begins
again. Gradients of a program whose steps are functions or Keras's `fit` are no steps: such a
program looks at gradients beside its training.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from strategy_core.runtime.source_place import source_place
from strategy_core.tracing.faults import guarded
from strategy_core.tracing.session import Session
from strategy_core.tracing.units import Unit

Method = Callable[..., Any]


class EagerSteps:
    """Makes steps of the gradients of one traced process."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._units: dict[tuple[CodeType, int], Unit] = {}
        """By the place of the `with tf.GradientTape()`."""

    @guarded
    def tape_begins(self, code: CodeType, line: int) -> None:
        """A `GradientTape` begins to record. A further one before a gradient is part of the same
        step."""
        session, before = self.session, self.session.this_thread.eager
        if (before is None or before.has_gradient) and not session.has_other_steps:
            session.this_thread.eager = session.begin_eager(self._unit(code, line))

    @guarded
    def gradient_begins(self, tape: Any) -> None:
        """A gradient is about to be computed."""
        call = self.session.this_thread.eager
        if call is None or self.session.has_other_steps:
            self.session.this_thread.eager = None
            self.session.num_eager_gradients += 1
        elif not call.has_gradient:
            call.has_gradient = True
            self.session.eager_gradient(call, tape)

    @guarded
    def part_done(self, error: BaseException | None, *, is_update: bool) -> None:
        """A gradient was computed, or an optimizer applied; or it raised."""
        call = self.session.this_thread.eager
        if call is None or not call.has_gradient:
            return
        if error is not None:
            self.session.this_thread.eager = None
        self.session.eager_part_done(call, error, is_update=is_update)

    def _unit(self, code: CodeType, line: int) -> Unit:
        unit = self._units.get((code, line))
        if unit is None:
            place = source_place(code.co_filename, line)
            unit = self._units[code, line] = Unit("tf.GradientTape", place, is_eager=True)
        return unit


def part_of_step(
    steps: EagerSteps, is_update: bool, method: Method, /, *args: Any, **kwargs: Any
) -> Any:
    """Call what computes a gradient, or applies it."""
    try:
        result = method(*args, **kwargs)
    except BaseException as error:
        steps.part_done(error, is_update=is_update)
        raise
    steps.part_done(None, is_update=is_update)
    return result
