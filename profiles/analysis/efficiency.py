"""How much of the replicas' time is useful, and does adding replicas pay?

POP's metrics, useful = compute + injected delay, which emulates a slow device:
LB = mean useful / max useful, CommE = max useful / runtime,
PE = LB * CommE (Performance Optimisation and Productivity Centre of Excellence, 2020).
Strong scaling T1 / (N * TN) at one global batch, weak scaling thrN / (N * thr1) at one batch
per replica.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from strategy_lab.profiles.analysis.breakdown import StepBreakdown
from strategy_lab.profiles.analysis.steps import StepTimes

if TYPE_CHECKING:
    from strategy_lab.profiles.run.events import SegmentOpened


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Ratios between 0 and 1; None where a replica's time is unknown."""

    load_balance: float | None
    communication: float | None
    parallel: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Scaling:
    """How well `num_replicas` replicas do against `base_replicas`; 1 is perfect."""

    kind: Literal["strong", "weak"]
    base_replicas: int
    num_replicas: int
    efficiency: float


def efficiency(breakdown: StepBreakdown) -> Efficiency:
    """POP's efficiencies of a segment."""
    if not breakdown.is_in_sync:
        return Efficiency(
            None, None, None, "each worker does its own steps, so none waits for another"
        )
    useful = [
        None if replica.compute_ms is None else replica.compute_ms + (replica.delay_ms or 0.0)
        for replica in breakdown.replicas
    ]
    runtime = [replica.wall_ms for replica in breakdown.replicas]
    known_useful = [value for value in useful if value is not None]
    known_runtime = [value for value in runtime if value is not None]
    if len(known_useful) < len(useful) or len(known_runtime) < len(runtime) or not useful:
        return Efficiency(None, None, None, breakdown.reason or "a replica's time is unknown")
    longest, wall = max(known_useful), max(known_runtime)
    if longest <= 0 or wall <= 0:
        return Efficiency(None, None, None, "no computation of a replica was recorded")
    balance = sum(known_useful) / len(known_useful) / longest
    return Efficiency(balance, longest / wall, balance * longest / wall)


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
