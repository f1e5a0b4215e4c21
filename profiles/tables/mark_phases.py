"""A replica's step from its light marks: the same five phases as a full capture, on every step.

    compute  = gradients ready - inputs ready
    wait     = last replica's gradients ready - own gradients ready
    transfer = own reduced - last replica's gradients ready
    input    = host time in which the step waited for its batch
    idle     = what is left of the step

"Last" is among all replicas of the step on comparable clocks, told on the replica's own clock.
The formulas hold for numbers and for columns of them alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from strategy_lab.profiles.run.events import MarkTimes, StepDone

PhasesMs = tuple[float, float, float, float, float]
"""Compute, wait, transfer, input, idle, as in `schema.CATEGORIES`; they add up to the step."""

Times = TypeVar("Times", int, npt.NDArray[np.int64])
Lengths = TypeVar("Lengths", float, npt.NDArray[np.float64])


def between_marks(
    inputs: Times, gradients: Times, reduced: Times, last: Times
) -> tuple[Times, Times, Times]:
    """Compute, wait and transfer: below 0 where a clock was set back in between, or where two
    clocks are apart by less than is known of them."""
    return gradients - inputs, last - gradients, reduced - last


def fill_step(
    wall: Lengths,
    waited: Lengths,
    between: tuple[Lengths, Lengths, Lengths],
    least: Callable[[Any, Any], Lengths] = min,
    most: Callable[[Any, Any], Lengths] = max,
) -> tuple[Lengths, Lengths, Lengths, Lengths, Lengths]:
    """Compute, wait, transfer, input and idle, none below 0, which add up to `wall`.

    `waited` is the host's wait for input; columns come with `np.minimum` and `np.maximum`. What
    does not fit into the step is left out: of the wait first, as other clocks have a part in it.
    """
    compute, wait, transfer = between
    input_ = least(most(waited, 0.0), wall)
    left = wall - input_
    compute = least(most(compute, 0.0), left)
    left = left - compute
    transfer = least(most(transfer, 0.0), left)
    left = left - transfer
    wait = least(most(wait, 0.0), left)
    return compute, wait, transfer, input_, left - wait


def split_step(step: StepDone, last_ns: int | None = None) -> list[PhasesMs] | None:
    """The phases of a step per replica of its worker, in ms; None without marks.

    `last_ns` is when the last replica of all workers had its gradients, on this worker's clock;
    without it the worker's own replicas are all.
    """
    if not step.marks_ns:
        return None
    own_last_ns = max([gradients for _, gradients, _ in step.marks_ns])
    last_ns = own_last_ns if last_ns is None else max(last_ns, own_last_ns)
    waited_ms = step.input_ms or 0.0
    return [_split(mark, last_ns, waited_ms, step.wall_ms) for mark in step.marks_ns]


def _split(mark: MarkTimes, last_ns: int, waited_ms: float, wall_ms: float) -> PhasesMs:
    inputs, gradients, reduced = mark
    compute, wait, transfer = between_marks(inputs, gradients, reduced, last_ns)
    idle_ms = wall_ms - waited_ms - (reduced - inputs) / 1e6
    if inputs <= gradients <= last_ns <= reduced and idle_ms >= 0.0 <= waited_ms:
        # In order and within the step, as nearly always: `fill_step` would leave nothing out.
        return compute / 1e6, wait / 1e6, transfer / 1e6, waited_ms, idle_ms
    return fill_step(wall_ms, waited_ms, (compute / 1e6, wait / 1e6, transfer / 1e6))
