"""How much of the replicas' time is useful, and does adding replicas pay?

Metrics of TALP for GPUs (Barcelona Supercomputing Center), which are those of the POP
Centre of Excellence with one factor more. useful = compute + injected delay, which emulates a slow
device; active = useful + wait + transfer:
LB = mean useful / max useful, CommE = max useful / max active, OrchE = max active / runtime,
PE = LB * CommE * OrchE. With POP's CommE = max useful / runtime, a step that waits for its input or
for the host's Python would have a low efficiency of communication.
Strong scaling T1 / (N * TN) at one global batch, weak scaling thrN / (N * thr1) at one batch
per replica.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from strategy_profiles.analysis.breakdown import NOT_CAPTURED, StepBreakdown
from strategy_profiles.analysis.steps import StepTimes
from strategy_profiles.run.events import SegmentOpened


class Efficiency(Struct, frozen=True):
    """Ratios between 0 and 1; None if a replica's time is unknown.

    If its wait or transfer alone is unknown, only `communication` and `orchestration` are None.
    """

    load_balance: float | None
    communication: float | None
    orchestration: float | None
    parallel: float | None
    reason: str | None = None


class Scaling(Struct, frozen=True):
    """How well `num_replicas` replicas do against `base_replicas`; 1 is perfect."""

    kind: Literal["strong", "weak"]
    base_replicas: int
    num_replicas: int
    efficiency: float


def efficiency(breakdown: StepBreakdown) -> Efficiency:
    """Efficiencies of a segment."""
    if not breakdown.is_in_sync:
        return _unknown("each worker does its own steps, so none waits for another")
    replicas = breakdown.replicas
    if not replicas or any(item.compute_ms is None or item.wall_ms is None for item in replicas):
        return _unknown(_why_unknown(breakdown))
    useful = [(item.compute_ms or 0.0) + (item.delay_ms or 0.0) for item in replicas]
    active = [
        own + item.wait_ms + item.transfer_ms
        for own, item in zip(useful, replicas, strict=True)
        if item.wait_ms is not None and item.transfer_ms is not None
    ]
    longest, wall = max(useful), max(item.wall_ms or 0.0 for item in replicas)
    if longest <= 0 or wall <= 0:
        return _unknown("no computation of a replica was recorded")
    balance = sum(useful) / len(useful) / longest
    parallel = balance * longest / wall
    if len(active) < len(useful):
        return Efficiency(balance, None, None, parallel)
    return Efficiency(balance, longest / max(active), max(active) / wall, parallel)


def _why_unknown(breakdown: StepBreakdown) -> str:
    if breakdown.undivided:
        return f"the work of replica {breakdown.undivided[0]} is not known: {NOT_CAPTURED}"
    return breakdown.reason or "a replica's time is unknown"


def _unknown(reason: str) -> Efficiency:
    return Efficiency(None, None, None, None, reason)


def scaling(
    base: tuple[SegmentOpened, StepTimes], other: tuple[SegmentOpened, StepTimes]
) -> Scaling | None:
    """Efficiency of `other` against `base`, per replica of the base.

    None where neither the global batch nor the batch per replica is the same, or nothing is timed.
    """
    (opened, times), (opened_n, times_n) = base, other
    n = opened_n.num_replicas / opened.num_replicas
    batch, batch_n = opened.global_batch_size, opened_n.global_batch_size
    if batch is None or batch_n is None:
        return None
    replicas = opened.num_replicas, opened_n.num_replicas
    step, step_n = times.median_ms, times_n.median_ms
    if batch == batch_n and step and step_n:
        return Scaling("strong", *replicas, step / (n * step_n))
    rate, rate_n = times.examples_per_second, times_n.examples_per_second
    if batch * n == batch_n and rate and rate_n:
        return Scaling("weak", *replicas, rate_n / (n * rate))
    return None
