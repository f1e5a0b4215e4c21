"""Has a number changed by more than it may? `step_time_ms:+5%`, `examples_per_second:-10%`.

A limit is a metric, a colon, a sign and a size: `+` fails where B is more than that above A, `-`
where B is more than that below A; with `%` the size is relative to A, without it is absolute.
A step time, or a throughput at the same batch, is beyond its limit only where the difference is
real: the confidence interval of the step times excludes no change (with too few steps for an
interval, the plain ratio decides).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from strategy_lab.profiles.analysis.run_comparison import METRICS, MetricChange, RunComparison
from strategy_lab.profiles.errors import AnalysisError

_LIMIT = re.compile(r"(?P<metric>[^:]+):(?P<sign>[+-])(?P<size>\d+(\.\d*)?|\.\d+)(?P<unit>%?)")


@dataclass(frozen=True, slots=True)
class Limit:
    """How far B may go from A in one direction. `size` is a share of A where `is_relative`."""

    text: str
    metric: str
    direction: int
    size: float
    is_relative: bool


@dataclass(frozen=True, slots=True)
class LimitCheck:
    """What became of one limit."""

    limit: Limit
    found: MetricChange
    is_beyond: bool
    remark: str | None = None
    """Why a difference beyond the limit does not count, where it does not."""


def parse_limit(text: str) -> Limit:
    """A limit from its text; raises AnalysisError with the rule."""
    match = _LIMIT.fullmatch(text.strip())
    if not match:
        raise AnalysisError(
            "A limit is METRIC:+N% or METRIC:-N%, or absolute without the %",
            repr(text),
            f"For instance 'step_time_ms:+5%'. Metrics: {', '.join(METRICS)}, or a dotted path "
            "of a segment's summary",
        )
    is_relative = bool(match["unit"])
    return Limit(
        text=text.strip(),
        metric=match["metric"].strip(),
        direction=1 if match["sign"] == "+" else -1,
        size=float(match["size"]) / (100 if is_relative else 1),
        is_relative=is_relative,
    )


def check_limit(compared: RunComparison, limit: Limit) -> LimitCheck:
    """Whether B is beyond the limit; raises AnalysisError where a run lacks the number."""
    found = compared.metric(limit.metric)
    if found.a is None or found.b is None:
        raise AnalysisError(
            f"Both runs know {limit.metric}", found.reason, f"Metrics: {', '.join(METRICS)}"
        )
    moved = (found.b - found.a) * limit.direction
    allowed = limit.size * abs(found.a) if limit.is_relative else limit.size
    if moved <= allowed:
        return LimitCheck(limit, found, False)
    times = compared.times
    if _rests_on_times(compared, limit.metric) and times.reason is None and not times.is_different:
        remark = (
            f"the ratio of step times is {times.ratio:.3f}, and between {times.low:.3f} and "
            f"{times.high:.3f} with 95 % confidence: it may be noise"
        )
        return LimitCheck(limit, found, False, remark)
    return LimitCheck(limit, found, True)


def _rests_on_times(compared: RunComparison, metric: str) -> bool:
    """Whether the metric can only change as the step times do."""
    batches = [run["global_batch_size"] for run in (compared.a_summary, compared.b_summary)]
    is_throughput = metric == "examples_per_second" and batches[0] == batches[1]
    return metric == "step_time_ms" or is_throughput
