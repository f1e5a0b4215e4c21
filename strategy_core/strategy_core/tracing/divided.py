"""Calls that were recorded as one step, and turned out to be several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from strategy_core.recorder.step import StepResult
from strategy_core.tracing.calls import Call
from strategy_core.tracing.values import number_in
from strategy_profiles.run.events import StepDone


def read_losses(calls: Sequence[Call]) -> StepResult:
    """Read the losses of the calls, for `as_steps`. In a thread of the lab's."""
    for call in calls:
        call.loss = None if call.loss is None else number_in(call.loss)
    return math.nan, None


def as_steps(calls: Sequence[Call], num_workers: int) -> Sequence[Callable[[Any], StepDone]]:
    """Each call as a step of its own, given the recorded step that they all were."""
    return [_as_step(call, index, num_workers) for index, call in enumerate(calls)]


def _as_step(call: Call, index: int, num_workers: int) -> Callable[[Any], StepDone]:
    start_ns, begin_ns = call.first_began()
    examples = None if call.num_examples is None else num_workers * call.num_examples
    waited_ns = [each.took_ns for each in call.fetched]

    def part(step: Any) -> StepDone:
        return StepDone(
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
