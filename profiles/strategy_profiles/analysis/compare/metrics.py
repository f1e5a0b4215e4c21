"""One number of two sides of runs, from their segments' summaries.

Of several runs a side the mean counts, with the interval of the difference over pairs of
neighbours, as for step times, or Welch's if the runs were not taken in turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.compare.mean_difference import paired, welch
from strategy_profiles.analysis.compare.repetitions import MIN_PAIRS
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.user_input.text import whole_or_none


class Metric(Struct, frozen=True):
    """A number with a short name."""

    statistic: str
    """What it is of: numbers of different statistics need not agree."""
    path: str = ""
    """Its path in a segment's summary, `*` for the mean over a list; empty if `Comparison` has
    it."""
    may_be_negative: bool = False


_STEADY = "Median of the steady steps"
_LOOP = "The loop with what is between steps, without its first step"
_TYPICAL = "Mean of the replicas in typical captured steps (of all steps without a capture)"
_CAPTURED = "Captured steps"
METRICS: dict[str, Metric] = {
    "loop_time_ms": Metric(_LOOP, "loop.ms_per_step"),
    "loop_examples_per_second": Metric(_LOOP, "loop.examples_per_second"),
    "step_time_ms": Metric(_STEADY),
    "examples_per_second_at_median": Metric(_STEADY),
    **{name: Metric(_TYPICAL, f"replicas.*.{name}") for name in (f"{c}_ms" for c in CATEGORIES)},
    "bytes_per_step.collective": Metric(_CAPTURED, "bytes_per_step.collective"),
    "bytes_per_step.transfer": Metric(_CAPTURED, "bytes_per_step.transfer"),
    "busbw_gbps": Metric(_CAPTURED, "busbw_gbps"),
    "late_ms": Metric("Median of the steps with known waits", "lateness.late_ms"),
    "loss": Metric("Last step", "loss.last", may_be_negative=True),
}
"""The numbers that have short names."""

Json = dict[str, Any]


class MetricChange(Struct, frozen=True):
    """One number of both sides; None if a run of the side has none, and `reason` says why."""

    metric: str
    a: float | None
    b: float | None
    reason: str | None = None
    low: float | None = None
    high: float | None = None
    """Interval of B - A from the differences between runs; None with too few runs."""

    @property
    def change(self) -> float | None:
        """(B - A) / |A|; None if a value is missing, or A is 0 and B is not."""
        if self.a is None or self.b is None:
            return None
        if self.a == 0:
            return 0.0 if self.b == 0 else None
        return (self.b - self.a) / abs(self.a)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of `change`; None if it is not known."""
        if not self.a or self.low is None or self.high is None:
            return None
        return self.low / abs(self.a), self.high / abs(self.a)

    @property
    def is_within_noise(self) -> bool:
        """Whether the differences between runs explain the change."""
        return self.low is not None and self.high is not None and self.low <= 0 <= self.high


def changed_metric(
    name: str, a: Sequence[Json], b: Sequence[Json], pairs: Sequence[tuple[int, int]] = ()
) -> MetricChange:
    """A metric by its short name or dotted path, of the summaries of each side's runs.

    `pairs` are the indices of neighbours; runs without one do not count. Empty: all count.
    """
    path = (METRICS[name].path if name in METRICS else name).split(".")
    if pairs:
        a, b = [a[i] for i, _ in pairs], [b[j] for _, j in pairs]
    (a_values, a_reason), (b_values, b_reason) = (_of_side(side, path) for side in (a, b))
    reasons = [
        f"{which}: {reason}" for which, reason in (("A", a_reason), ("B", b_reason)) if reason
    ]
    low, high = _interval(a_values, b_values, are_paired=bool(pairs))
    if low is not None and name in METRICS and not METRICS[name].may_be_negative:
        low = max(low, -float(np.mean(a_values)))  # no time falls by more than 100 %
    return MetricChange(
        name,
        float(np.mean(a_values)) if a_values else None,
        float(np.mean(b_values)) if b_values else None,
        "; ".join(reasons) or None,
        low,
        high,
    )


def _of_side(runs: Sequence[Json], path: list[str]) -> tuple[list[float], str | None]:
    """The value of every run; none if one lacks it, and why."""
    pairs = [_lookup(run, path) for run in runs]
    values = [value for value, _ in pairs if value is not None]
    if len(values) == len(pairs):
        return values, None
    return [], next(reason for value, reason in pairs if value is None)


def _interval(
    a_values: Sequence[float], b_values: Sequence[float], *, are_paired: bool
) -> tuple[float | None, float | None]:
    if min(len(a_values), len(b_values)) < MIN_PAIRS:
        return None, None
    a, b = np.asarray(a_values), np.asarray(b_values)
    difference = paired(a, b) if are_paired else welch(a, b)
    return difference.low, difference.high


def _lookup(value: Any, path: list[str]) -> tuple[float | None, str | None]:
    """The number at a path, or the reason why it is missing."""
    for index, head in enumerate(path):
        if isinstance(value, list) and head == "*":
            return _mean_of([_lookup(item, path[index + 1 :]) for item in value])
        value, reason = _member(value, head)
        if value is None:
            return None, reason
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), None
    return None, "not a number"


def _member(value: Any, name: str) -> tuple[Any, str | None]:
    index = whole_or_none(name)
    if isinstance(value, list) and index is not None and index < len(value):
        return value[index], "not recorded"
    if isinstance(value, dict) and name in value:
        return value[name], str(value.get(f"{name}_reason") or "not recorded")
    return None, f"a segment's summary has no {name!r} there"


def _mean_of(pairs: list[tuple[float | None, str | None]]) -> tuple[float | None, str | None]:
    if not pairs:
        return None, "none was recorded"
    values = [value for value, _ in pairs if value is not None]
    if len(values) < len(pairs):
        return None, next(reason for value, reason in pairs if value is None)
    return sum(values) / len(values), None
