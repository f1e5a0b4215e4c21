"""The key numbers of a run as metrics: a name with its unit, and a value per segment.

A number that a segment does not have is left out: a metric has no way to say why.
"""

from __future__ import annotations

from dataclasses import dataclass

from strategy_profiles.analysis.findings import gather_facts
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.errors import LabError
from strategy_profiles.reporting.definitions import DEFINITIONS
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.store import Profile

_SUFFIXES = {
    "ms": "_ms",
    "examples/s": "_examples_per_second",
    "bytes/step": "_bytes_per_step",
    "GB/s": "_gbps",
    "": "",
}
"""How the name of a metric tells the unit of its definition. As everywhere here, `_gbps` is 10^9
bytes per second."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of one segment; `key` is that of its definition."""

    key: str
    value: float

    @property
    def name(self) -> str:
        return f"{self.key}{_SUFFIXES[self.unit]}"

    @property
    def unit(self) -> str:
        return DEFINITIONS[self.key].unit


@dataclass(frozen=True, slots=True)
class SegmentMetrics:
    """The figures that a segment has."""

    segment: SegmentOpened
    metrics: tuple[Metric, ...]


def segment_metrics(profile: Profile) -> list[SegmentMetrics]:
    """The key numbers of every segment; raises LabError if the run has none."""
    segments = [_metrics(profile, segment) for segment in profile.segments]
    if not any(item.metrics for item in segments):
        raise LabError(
            f"The run {profile.name} has no key numbers yet", advice="Export it after its steps"
        )
    return segments


def _metrics(profile: Profile, segment: SegmentOpened) -> SegmentMetrics:
    numbers = key_numbers(gather_facts(profile, segment))
    metrics = (Metric(item.key, item.value) for item in numbers if item.value is not None)
    return SegmentMetrics(segment, tuple(metrics))
