"""Several runs, each compared with the first one by the rules for two runs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from strategy_profiles.analysis.compare.metrics import METRICS, MetricChange
from strategy_profiles.analysis.compare.run_comparison import RunComparison, compare_runs
from strategy_profiles.errors import AnalysisError
from strategy_profiles.tables.store import Profile

MOST_RUNS = 6
"""Runs in one table, the first one included."""


class AgainstFirst(Struct, frozen=True):
    """A run as B of a comparison with the first one; or why they cannot be compared."""

    name: str
    compared: RunComparison | None
    reason: str | None = None


class EachRow(Struct, frozen=True):
    """A metric of all runs; a change is missing where a run lacks the metric."""

    metric: str
    first: float | None
    others: tuple[MetricChange | None, ...]
    """None for a run that cannot be compared."""


def compare_each(runs: Sequence[Profile]) -> tuple[AgainstFirst, ...]:
    """Compare every run but the first with the first, each by its longest segment.

    Raises AnalysisError if there are fewer than two runs, or more than `MOST_RUNS`.
    """
    if not 2 <= len(runs) <= MOST_RUNS:
        raise AnalysisError(
            f"A comparison of each run with the first takes 2 to {MOST_RUNS} runs, not {len(runs)}"
        )
    return tuple(_against(runs[0], run) for run in runs[1:])


def each_row(compared: Sequence[AgainstFirst]) -> tuple[EachRow, ...]:
    """Return every metric that a run has."""
    rows = []
    for name in METRICS:
        changes = tuple(item.compared.metric(name) if item.compared else None for item in compared)
        first = next((each.a for each in changes if each and each.a is not None), None)
        if first is not None or any(each and each.b is not None for each in changes):
            rows.append(EachRow(name, first, changes))
    return tuple(rows)


def _against(first: Profile, other: Profile) -> AgainstFirst:
    try:
        return AgainstFirst(other.name, compare_runs(first, other))
    except AnalysisError as error:
        return AgainstFirst(other.name, None, str(error))
