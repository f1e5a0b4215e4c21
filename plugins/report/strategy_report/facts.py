"""The facts of a run that all sections use, computed once, and what a section consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from strategy_profiles.analysis.captured_steps import sentence_if_unlike
from strategy_profiles.analysis.findings import Facts, gather_facts
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report. The template `TEMPLATE.html`, or else `KEY.html`, shows it."""

    key: str
    title: str
    values: dict[str, Any] = field(default_factory=dict)
    """The values for the template, beside the run's `facts`."""
    charts: dict[str, Any] = field(default_factory=dict)
    """The charts' data for the script, by the name of their place."""
    timeline: dict[str, Any] | None = None
    template: str = ""


@dataclass(frozen=True)
class RunFacts:
    """A profile and the analysis results that several sections use."""

    profile: Profile
    segments: tuple[Facts, ...]
    device_names: dict[str, str]
    """Display names of devices, by full name."""

    @property
    def headline_facts(self) -> Facts | None:
        """Facts of the segment of headline and key numbers; None if the run has no segment."""
        segment = headline_segment(self.profile)
        return next((item for item in self.segments if item.segment == segment), None)

    @cached_property
    def titles(self) -> dict[int, str]:
        """Display names of the run's processes, by number."""
        return self.profile.process_titles

    def title(self, item: Facts) -> str:
        """Return a title like `Segment 1: mirrored ×4`."""
        segment = item.segment
        return f"Segment {segment.segment}: {segment.strategy} ×{segment.num_replicas}"

    def unlike(self, item: Facts) -> str | None:
        """Return how long captured steps took, if that is unlike the others."""
        return sentence_if_unlike(item.breakdown, item.steps.median_ms)

    def device(self, full: str | None) -> str:
        return self.device_names.get(full, full) if full else "no device"


def gather(profile: Profile) -> RunFacts:
    """Compute the facts of a profile."""
    segments = tuple(gather_facts(profile, segment) for segment in profile.segments)
    devices = {device for facts in segments for device in facts.segment.replica_devices}
    for facts in segments:
        devices.update(*(facts.segment.core_devices or ()))
        for traffic in facts.communication.traffic:
            devices |= {traffic.send_device, traffic.recv_device}
    devices |= set(profile.table("placement")["device"].drop_null().unique().to_pylist())
    return RunFacts(profile, segments, short_names(sorted(devices)))
