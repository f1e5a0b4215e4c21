"""The calls of the open step that compute gradients, each of which may turn out to be a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from strategy_core.recorder.step import StepPart, StepResult
from strategy_core.tracing.calls import Call
from strategy_core.tracing.units import Unit
from strategy_core.tracing.values import number_in


class StepCalls:
    """What each call of a step took, until it is known whether the calls are one step.

    `num_workers` processes have as many examples as this one.
    """

    def __init__(self, num_workers: int) -> None:
        self._num_workers = num_workers
        self.calls: list[Call] = []

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def units(self) -> Sequence[Unit]:
        """The function of each call."""
        return [call.unit for call in self.calls]

    @property
    def first(self) -> Call:
        return self.calls[0]

    def part_done(self, call: Call, ended_ns: int) -> None:
        """A part of an eager call has ended."""
        if not self.calls or self.calls[-1] is not call:
            self.calls.append(call)
        call.ended_ns = ended_ns

    def num_examples(self) -> int | None:
        """Examples of all calls of the function that is called first; None if one is unknown.

        The other functions get the same batches, or what these have computed.
        """
        own = [call.num_examples for call in self.calls if call.unit is self.first.unit]
        if None in own:
            return None
        return self._num_workers * sum(examples for examples in own if examples is not None)

    def losses(self) -> Callable[[], StepResult]:
        """What reads the losses of the calls, for `as_steps`."""
        calls = self.calls

        def read() -> StepResult:
            for call in calls:
                call.loss = None if call.loss is None else number_in(call.loss)
            return math.nan, None

        return read

    def as_steps(self) -> Sequence[Callable[[Any], StepPart]]:
        """Each call as a step of its own, given the recorded step that they all were."""
        return [_as_step(call, index, self._num_workers) for index, call in enumerate(self.calls)]


def _as_step(call: Call, index: int, num_workers: int) -> Callable[[Any], StepPart]:
    start_ns, begin_ns = call.first_began()
    examples = None if call.num_examples is None else num_workers * call.num_examples
    waited_ns = [each.took_ns for each in call.fetched]

    def part(step: Any) -> StepPart:
        return StepPart(
            segment=step.segment,
            step=step.step + index,
            start_ns=start_ns,
            wall_ms=(call.ended_ns - begin_ns) / 1e6,
            loss=call.loss,
            examples=examples,
            input_ms=sum(waited_ns) / 1e6 if waited_ns else None,
            captured=step.captured,
        )

    return part
