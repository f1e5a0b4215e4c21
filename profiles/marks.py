"""A replica's step from its light marks: the same five phases as a full capture, on every step.

    compute  = gradients ready - inputs ready
    wait     = last replica's gradients ready - own gradients ready
    transfer = own reduced - last replica's gradients ready
    input    = host time in which the step waited for its batch
    idle     = what is left of the step

All of a worker's replicas read one clock; replicas of other workers are split by their own events.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

PhasesMs = tuple[float, float, float, float, float]
"""Compute, wait, transfer, input, idle, as in `schema.CATEGORIES`; they add up to the step."""


def split_step(step: Mapping[str, Any]) -> list[PhasesMs] | None:
    """The phases of a `step` record per replica of its worker, in ms; None without marks."""
    marks = step.get("marks_ns")
    wall_ms = step.get("wall_ms")
    if not marks or not isinstance(wall_ms, int | float) or not math.isfinite(wall_ms):
        return None
    try:
        last_ns = max([gradients for _, gradients, _ in marks])
        input_ms = min(max(float(step.get("input_ms") or 0.0), 0.0), wall_ms)
        return [_split(mark, last_ns, input_ms, wall_ms) for mark in marks]
    except (TypeError, ValueError):
        return None


def _split(mark: list[int], last_ns: int, input_ms: float, wall_ms: float) -> PhasesMs:
    ready, gradients, reduced = mark
    compute = (gradients - ready) / 1e6 if gradients > ready else 0.0
    wait = (last_ns - gradients) / 1e6
    transfer = (reduced - last_ns) / 1e6 if reduced > last_ns else 0.0
    idle = wall_ms - input_ms - compute - wait - transfer
    return compute, wait, transfer, input_ms, idle if idle > 0 else 0.0
