"""Split a replica's step by its in-graph timestamps (marks) into the phases of a capture.

    delay    = the delay that the lab injected into the replica, by the spec
    compute  = gradients ready - inputs ready - delay
    wait     = last replica's gradients ready - own gradients ready
    transfer = own reduced - last replica's gradients ready
    input    = host time in which the step waits for its batch
    idle     = the rest of the step

"Last" is among all replicas of the step with comparable clocks, converted to the replica's own
clock. The functions accept numbers as well as columns of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from strategy_profiles.run.events import MarkTimes, StepDone

PhasesMs = tuple[float, float, float, float, float, float]
"""One length for each of `schema.CATEGORIES`, in that order; they add up to the step."""

Times = TypeVar("Times", int, npt.NDArray[np.int64])
Lengths = TypeVar("Lengths", float, npt.NDArray[np.float64])


def between_marks(
    inputs: Times, gradients: Times, reduced: Times, last: Times, delay: Times
) -> tuple[Times, Times, Times, Times]:
    """Return compute, delay, wait and transfer. `delay` is the configured one.

    They are negative if a clock was set back in between, or if two clocks differ by less than the
    uncertainty of their offset.
    """
    return gradients - inputs - delay, delay, last - gradients, reduced - last


def fill_step(
    wall: Lengths,
    waited: Lengths,
    between: tuple[Lengths, Lengths, Lengths, Lengths],
    least: Callable[[Any, Any], Lengths] = min,
    most: Callable[[Any, Any], Lengths] = max,
) -> tuple[Lengths, Lengths, Lengths, Lengths, Lengths, Lengths]:
    """Return the phases of `schema.CATEGORIES`, all at least 0 and with the sum `wall`.

    `waited` is the host's wait for input, `between` what `between_marks` returns. For columns, pass
    `np.minimum` and `np.maximum`. Phases that exceed the step are shortened, the wait first,
    because it depends on other clocks.
    """
    compute, delay, wait, transfer = between
    input_ = least(most(waited, 0.0), wall)
    left = wall - input_
    # A delay that exceeds what was measured with it was shorter than the spec says.
    delay = least(most(delay + least(compute, 0.0), 0.0), left)
    left = left - delay
    compute = least(most(compute, 0.0), left)
    left = left - compute
    transfer = least(most(transfer, 0.0), left)
    left = left - transfer
    wait = least(most(wait, 0.0), left)
    return compute, delay, wait, transfer, input_, left - wait


def split_step(
    step: StepDone, last_ns: int | None = None, delays_ms: Sequence[float] = ()
) -> list[PhasesMs] | None:
    """Return the phases of a step for each replica of its worker, in ms; None without marks.

    `delays_ms` are the delays that the lab injected, by local replica; empty means none.

    `last_ns` is when the last replica of all workers had its gradients, on this worker's clock.
    Without it, only the worker's own replicas count.
    """
    if not step.marks_ns:
        return None
    own_last_ns = max([gradients for _, gradients, _ in step.marks_ns])
    last_ns = own_last_ns if last_ns is None else max(last_ns, own_last_ns)
    waited_ms = step.input_ms or 0.0
    delays_ms = delays_ms or [0.0] * len(step.marks_ns)
    return [
        _split(mark, last_ns, waited_ms, step.wall_ms, round(delay_ms * 1e6))
        for mark, delay_ms in zip(step.marks_ns, delays_ms, strict=True)
    ]


def _split(
    mark: MarkTimes, last_ns: int, waited_ms: float, wall_ms: float, delay_ns: int
) -> PhasesMs:
    inputs, gradients, reduced = mark
    compute, delay, wait, transfer = between_marks(inputs, gradients, reduced, last_ns, delay_ns)
    idle_ms = wall_ms - waited_ms - (reduced - inputs) / 1e6
    if inputs + delay_ns <= gradients <= last_ns <= reduced and idle_ms >= 0.0 <= waited_ms:
        # The usual case: in order and within the step, so `fill_step` would shorten nothing.
        return compute / 1e6, delay / 1e6, wait / 1e6, transfer / 1e6, waited_ms, idle_ms
    between = (compute / 1e6, delay / 1e6, wait / 1e6, transfer / 1e6)
    return fill_step(wall_ms, waited_ms, between)
