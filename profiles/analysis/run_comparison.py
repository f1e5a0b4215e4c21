"""Two runs side by side: step times with their uncertainty, and every number of their summaries.

Of each run one segment is compared: the one asked for, else the one with the most steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strategy_lab.profiles.analysis.comparison import Comparison, compare_times
from strategy_lab.profiles.analysis.steps import StepTimes, step_times
from strategy_lab.profiles.analysis.summary import summarize_segment
from strategy_lab.profiles.errors import AnalysisError
from strategy_lab.profiles.schema import CATEGORIES
from strategy_lab.profiles.user_text import whole_or_none

if TYPE_CHECKING:
    from strategy_lab.profiles.events import SegmentOpened
    from strategy_lab.profiles.store import Profile

METRICS: dict[str, str] = {
    "step_time_ms": "steps.wall_ms.median",
    "examples_per_second": "steps.examples_per_second",
    **{f"{category}_ms": f"replicas.*.{category}_ms" for category in CATEGORIES},
    "bytes_per_step.collective": "bytes_per_step.collective",
    "bytes_per_step.transfer": "bytes_per_step.transfer",
    "busbw_gbps": "busbw_gbps",
    "late_ms": "lateness.late_ms",
    "loss": "loss.last",
}
"""Short names, and the path of each in a segment's summary; `*` is the mean over a list."""


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One number of both runs; None where a run has none, and `reason` says why."""

    metric: str
    a: float | None
    b: float | None
    reason: str | None = None

    @property
    def change(self) -> float | None:
        """(B - A) / |A|; None where a value is missing, or A is 0 and B is not."""
        if self.a is None or self.b is None:
            return None
        if self.a == 0:
            return 0.0 if self.b == 0 else None
        return (self.b - self.a) / abs(self.a)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The chosen segments of A and B, and what differs."""

    a_name: str
    b_name: str
    a_segment: int
    b_segment: int
    times: Comparison
    warnings: tuple[str, ...]
    a_summary: dict[str, Any]
    b_summary: dict[str, Any]

    @property
    def metrics(self) -> tuple[MetricChange, ...]:
        """Every metric that has a short name."""
        return tuple(self.metric(name) for name in METRICS)

    def metric(self, name: str) -> MetricChange:
        """A short name of `METRICS`, or any dotted path of a segment's summary."""
        if name == "step_time_ms":
            # The same numbers as the verdict: winsorized, warm-up left out.
            return MetricChange(name, self.times.a_ms, self.times.b_ms)
        return _change(name, self.a_summary, self.b_summary)


def compare_runs(
    a: Profile, b: Profile, *, a_segment: int | None = None, b_segment: int | None = None
) -> RunComparison:
    """Compare B against A; raises AnalysisError where the two cannot be compared."""
    _check_same_workload(a, b)
    a_opened, a_times = _choose(a, "A", a_segment)
    b_opened, b_times = _choose(b, "B", b_segment)
    return RunComparison(
        a_name=a.name,
        b_name=b.name,
        a_segment=a_opened.segment,
        b_segment=b_opened.segment,
        times=compare_times(a_times.timed_ms, b_times.timed_ms),
        warnings=tuple(_warnings(a, b, a_opened, b_opened)),
        a_summary=summarize_segment(a, a_opened),
        b_summary=summarize_segment(b, b_opened),
    )


def _choose(run: Profile, which: str, number: int | None) -> tuple[SegmentOpened, StepTimes]:
    """The segment to compare and its steps, at least one of positive length."""
    known = {segment.segment: segment for segment in run.segments}
    if number is not None and number not in known:
        numbers = ", ".join(str(item) for item in known) or "none"
        raise AnalysisError(f"Run {which} has the segments {numbers}", f"segment {number}")
    chosen = list(known.values()) if number is None else [known[number]]
    timed = [(segment, step_times(run, segment.segment)) for segment in chosen]
    best = max(timed, key=lambda pair: pair[1].count, default=None)
    if best is None or not best[1].count or best[1].timed_ms.min() <= 0:
        raise AnalysisError(
            "Runs are compared by their timed steps",
            f"{run.path} (run {which} has none)",
            "Record a few steps first",
        )
    return best


def _check_same_workload(a: Profile, b: Profile) -> None:
    names = [(run.spec or {}).get("workload") for run in (a, b)]
    if None not in names and names[0] != names[1]:
        raise AnalysisError(
            "Runs are comparable where they train the same workload",
            f"{names[0]} and {names[1]}",
        )


def _warnings(
    a: Profile, b: Profile, a_opened: SegmentOpened, b_opened: SegmentOpened
) -> list[str]:
    found = []
    if a_opened.global_batch_size != b_opened.global_batch_size:
        found.append(
            f"The global batches differ ({a_opened.global_batch_size} and "
            f"{b_opened.global_batch_size}): compare examples per second, not step times."
        )
    hosts = [_host(run) for run in (a, b)]
    if None not in hosts and hosts[0] != hosts[1]:
        found.append(f"The runs are from different machines ({hosts[0]} and {hosts[1]}).")
    for which, run in (("A", a), ("B", b)):
        if run.status.state != "finished":
            found.append(f"Run {which} is {run.status.state}, not finished.")
    if a.spec is None or b.spec is None:
        found.append("Whether both train the same workload is unknown: a run has no spec.")
    return found


def _host(run: Profile) -> str | None:
    host = (run.environment or {}).get("host")
    return str(host.get("name")) if isinstance(host, Mapping) else None


def _change(name: str, a: dict[str, Any], b: dict[str, Any]) -> MetricChange:
    path = METRICS.get(name, name)
    a_value, a_reason = _lookup(a, path.split("."))
    b_value, b_reason = _lookup(b, path.split("."))
    reasons = [
        f"{which}: {reason}" for which, reason in (("A", a_reason), ("B", b_reason)) if reason
    ]
    return MetricChange(name, a_value, b_value, "; ".join(reasons) or None)


def _lookup(value: Any, path: list[str]) -> tuple[float | None, str | None]:
    """The number at a path, or the reason why there is none."""
    for place, head in enumerate(path):
        if isinstance(value, list) and head == "*":
            return _mean_of([_lookup(item, path[place + 1 :]) for item in value])
        value, reason = _member(value, head)
        if value is None:
            return None, reason
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), None
    return None, "not a number"


def _member(value: Any, name: str) -> tuple[Any, str | None]:
    place = whole_or_none(name)
    if isinstance(value, list) and place is not None and place < len(value):
        return value[place], "not recorded"
    if isinstance(value, dict) and name in value:
        return value[name], str(value.get(f"{name}_reason") or "not recorded")
    return None, f"a segment's summary has no {name!r} there"


def _mean_of(found: list[tuple[float | None, str | None]]) -> tuple[float | None, str | None]:
    if not found:
        return None, "none was recorded"
    values = [value for value, _ in found if value is not None]
    if len(values) < len(found):
        return None, next(reason for value, reason in found if value is None)
    return sum(values) / len(values), None
