"""Has a number changed by more than it may? `step_time_ms:+5%`, `loss:+0.1`.

A limit is a metric, a colon, a sign and a size: `+` fails where B is more than that above A, `-`
where B is more than that below A; with `%` the size is relative to A, without it is absolute.
With several runs a side, a number is beyond its limit only if the differences between runs do not
explain the change: the interval of B - A excludes 0.

With one run a side, the values of the two runs decide. The noise between runs is not known, and
what else lies in the runs folder does not change the answer; but a step time, or a throughput at
the same batch, is not beyond its limit if even the noise within the two runs explains it (with too
few steps to tell that noise, the plain ratio decides).
"""

from __future__ import annotations

import re

from msgspec import Struct

from strategy_profiles.analysis.compare.metrics import METRICS, MetricChange
from strategy_profiles.analysis.compare.run_comparison import RunComparison
from strategy_profiles.errors import AnalysisError
from strategy_profiles.reporting import units
from strategy_profiles.user_input.text import quoted

_FORMER_NAMES = {"examples_per_second": "examples_per_second_at_median"}
"""Names that pipelines may still write. A summary uses the first for the throughput over all steps
(`steps.examples_per_second`)."""
_LIMIT = re.compile(r"(?P<metric>[^:]+):(?P<sign>[+-])(?P<size>\d+(\.\d*)?|\.\d+)(?P<unit>%?)")


class Limit(Struct, frozen=True):
    """How far B may go from A in one direction. `size` is a share of A where `is_relative`."""

    text: str
    metric: str
    direction: int
    size: float
    is_relative: bool


class LimitCheck(Struct, frozen=True):
    """What became of one limit."""

    limit: Limit
    found: MetricChange
    is_beyond: bool
    remark: str | None = None
    """Why a difference beyond the limit does not count, if it does not."""


def parse_limit(text: str) -> Limit:
    """A limit from its text; raises AnalysisError with the rule."""
    match = _LIMIT.fullmatch(text.strip())
    if not match:
        raise AnalysisError(
            f"{quoted(text)} is not a limit",
            advice="Write METRIC:+N% or METRIC:-N%, or leave out the % for an absolute "
            "change, for instance 'step_time_ms:+5%'. "
            f"Metrics: {', '.join(METRICS)}, or a dotted path of a segment's summary",
        )
    is_relative = bool(match["unit"])
    metric = match["metric"].strip()
    return Limit(
        text=text.strip(),
        metric=_FORMER_NAMES.get(metric, metric),
        direction=1 if match["sign"] == "+" else -1,
        size=float(match["size"]) / (100 if is_relative else 1),
        is_relative=is_relative,
    )


def check_limit(compared: RunComparison, limit: Limit) -> LimitCheck:
    """Whether B is beyond the limit; raises AnalysisError if a run lacks the number."""
    change = compared.metric(limit.metric)
    if change.a is None or change.b is None:
        raise AnalysisError(
            f"Not every run has the metric {limit.metric}: {change.reason}",
            advice=f"Metrics: {', '.join(METRICS)}",
        )
    moved = (change.b - change.a) * limit.direction
    allowed = limit.size * abs(change.a) if limit.is_relative else limit.size
    if moved <= allowed:
        return LimitCheck(limit, change, False)
    remark = _noise(compared, change)
    return LimitCheck(limit, change, remark is None, remark)


def _noise(compared: RunComparison, change: MetricChange) -> str | None:
    """Why a difference beyond the limit may be noise; None if nothing says so."""
    times = compared.times
    if times.unit == "run":
        if not change.is_within_noise:
            return None
        return (
            f"B - A is between {units.number(change.low)} and {units.number(change.high)} over "
            f"{times.num_runs[0]} and {times.num_runs[1]} runs: it may be noise"
        )
    if _rests_on_times(compared, change.metric) and times.is_within_noise:
        return (
            f"the ratio of step times is {times.ratio:.3f}, and the noise within these two runs "
            f"alone makes {times.within_low:.3f} to {times.within_high:.3f} of it: it may be noise"
        )
    return None


def _rests_on_times(compared: RunComparison, metric: str) -> bool:
    """Whether the metric can only change as the step times do."""
    batches = {run.global_batch_size for run in (*compared.a, *compared.b)}
    is_throughput = metric == "examples_per_second_at_median" and len(batches) == 1
    return metric == "step_time_ms" or is_throughput
