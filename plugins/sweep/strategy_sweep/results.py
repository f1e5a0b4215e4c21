"""What a sweep found: each configuration with its intervals, the winner, the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from strategy_profiles.analysis.compare.comparison import CONFIDENCE
from strategy_profiles.analysis.compare.repetitions import MIN_PAIRS
from strategy_profiles.analysis.compare.student_t import student_t
from strategy_profiles.spec.run_spec import RunSpec, parse_spec
from strategy_sweep.contest import (
    Ratio,
    SweepProgress,
    leader,
    ratio,
    sweep_progress,
    throughputs,
)
from strategy_sweep.record import MeasuredRun, Sweep

State = Literal[
    "fastest", "not distinguishable", "not compared", "slower", "failed", "pruned", "not run"
]
Cost = Literal["step_ms", "num_replicas"]
COST_NAMES: dict[Cost, str] = {"step_ms": "step time", "num_replicas": "number of replicas"}
"""What throughput is weighed against in a Pareto front."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The geometric mean over runs, and its 95 % interval."""

    middle: float
    low: float | None = None
    high: float | None = None
    """None with fewer than three runs."""


@dataclass(frozen=True, slots=True)
class Result:
    """One configuration."""

    index: int
    label: str
    state: State
    runs: tuple[str, ...]
    """Names of the runs that were measured."""
    num_replicas: int | None
    step_ms: Estimate | None
    examples_per_second_at_median: Estimate | None
    of_reference: Ratio | None
    """Throughput over that of the reference; None with fewer than three common rounds."""
    why: str
    """Why it stopped; empty if it did not."""


@dataclass(frozen=True)
class Results:
    """The answer of a sweep, as far as it has come."""

    sweep: Sweep
    now: SweepProgress
    table: tuple[Result, ...]
    """Every configuration, the fastest first, the failed ones last."""

    @property
    def winner(self) -> Result | None:
        """The configuration with the highest throughput among those that did not stop."""
        return next((item for item in self.table if item.state == "fastest"), None)

    @property
    def rivals(self) -> tuple[Result, ...]:
        """Configurations whose difference to the winner is not significant."""
        return tuple(item for item in self.table if item.state == "not distinguishable")

    @property
    def reference(self) -> Result:
        return next(item for item in self.table if item.index == self.sweep.reference)

    def spec(self, index: int) -> RunSpec:
        """The RunSpec of a configuration, with the base's number of steps; raises SpecError."""
        return parse_spec(self.sweep.base).with_changes(self.sweep.configurations[index].changes)

    def pareto(self, cost: Cost) -> list[int]:
        """Indices of the configurations that no other one beats in both throughput and cost."""
        known = {
            item.index: (price, item.examples_per_second_at_median.middle)
            for item in self.table
            if (price := cost_of(item, cost)) is not None and item.examples_per_second_at_median
        }
        return [
            index
            for index, (price, rate) in known.items()
            if not any(
                other[0] <= price and other[1] >= rate and other != (price, rate)
                for other in known.values()
            )
        ]


def results(sweep: Sweep) -> Results:
    """Derive the answer from the runs of a sweep."""
    now = sweep_progress(sweep)
    logs = throughputs(sweep.runs)
    best = leader(now.left, logs)
    level = CONFIDENCE if now.level is None else now.level
    table = []
    for index, configuration in enumerate(sweep.configurations):
        runs = [run for run in sweep.runs if run.configuration == index and run.is_measured]
        table.append(
            Result(
                index=index,
                label=configuration.label,
                state=_state(index, best, now, runs),
                runs=tuple(run.run for run in runs),
                num_replicas=next((run.num_replicas for run in runs), None),
                step_ms=_estimate([run.step_ms for run in runs]),
                examples_per_second_at_median=_estimate(
                    [run.examples_per_second_at_median for run in runs]
                ),
                of_reference=ratio(index, sweep.reference, logs, level),
                why=now.stopped.get(index, ""),
            )
        )
    return Results(sweep, now, tuple(sorted(table, key=_rank)))


def _state(index: int, best: int | None, now: SweepProgress, runs: Sequence[MeasuredRun]) -> State:
    if now.stopped.get(index, "").startswith("failed"):
        return "failed"
    if index in now.stopped:
        return "slower" if runs else "pruned"
    if not runs:
        return "not run"
    if index == best:
        return "fastest"
    return "not compared" if now.level is None else "not distinguishable"


def _rank(item: Result) -> tuple[bool, bool, float]:
    rate = item.examples_per_second_at_median
    return item.state != "fastest", rate is None, -(rate.middle if rate else 0.0)


def _estimate(values: Sequence[float | None]) -> Estimate | None:
    logs = np.log([value for value in values if value])
    if not logs.size:
        return None
    middle = float(logs.mean())
    if logs.size < MIN_PAIRS:
        return Estimate(math.exp(middle))
    reach = student_t(logs.size - 1, CONFIDENCE) * float(logs.std(ddof=1)) / math.sqrt(logs.size)
    return Estimate(math.exp(middle), math.exp(middle - reach), math.exp(middle + reach))


def cost_of(item: Result, cost: Cost) -> float | None:
    """What a configuration costs; None if it was not measured."""
    if item.step_ms is None or item.num_replicas is None:
        return None
    return item.step_ms.middle if cost == "step_ms" else float(item.num_replicas)
