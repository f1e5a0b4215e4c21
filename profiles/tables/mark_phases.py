"""Split a replica's step by its in-graph timestamps (marks) into the five phases of a capture.

    compute  = gradients ready - inputs ready
    wait     = last replica's gradients ready - own gradients ready
    transfer = own reduced - last replica's gradients ready
    input    = host time in which the step waits for its batch
    idle     = the rest of the step

"Last" is among all replicas of the step with comparable clocks, converted to the replica's own
clock. The functions accept numbers as well as columns of them.
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
    """Return compute, wait and transfer.

    They are negative if a clock was set back in between, or if two clocks differ by less than the
    uncertainty of their offset.
    """
    return gradients - inputs, last - gradients, reduced - last


def fill_step(
    wall: Lengths,
    waited: Lengths,
    between: tuple[Lengths, Lengths, Lengths],
    least: Callable[[Any, Any], Lengths] = min,
    most: Callable[[Any, Any], Lengths] = max,
) -> tuple[Lengths, Lengths, Lengths, Lengths, Lengths]:
    """Return compute, wait, transfer, input and idle, all at least 0 and with the sum `wall`.

    `waited` is the host's wait for input. For columns, pass `np.minimum` and `np.maximum`. Phases
    that exceed the step are shortened, the wait first, because it depends on other clocks.
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
    """Return the phases of a step for each replica of its worker, in ms; None without marks.

    `last_ns` is when the last replica of all workers had its gradients, on this worker's clock.
    Without it, only the worker's own replicas count.
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
        # The usual case: in order and within the step, so `fill_step` would shorten nothing.
        return compute / 1e6, wait / 1e6, transfer / 1e6, waited_ms, idle_ms
    return fill_step(wall_ms, waited_ms, (compute / 1e6, wait / 1e6, transfer / 1e6))
