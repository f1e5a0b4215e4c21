"""What the questions about a segment were answered, and what a finding is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strategy_lab.profiles.analysis.breakdown import StepBreakdown, step_breakdown
from strategy_lab.profiles.analysis.capture_cost import CaptureCost, capture_cost
from strategy_lab.profiles.analysis.causes import HeldUp, held_up
from strategy_lab.profiles.analysis.communication import Communication, communication
from strategy_lab.profiles.analysis.input_share import InputShare, input_share
from strategy_lab.profiles.analysis.overlap import Overlap, overlaps
from strategy_lab.profiles.analysis.retracing import Retracing, retracing
from strategy_lab.profiles.analysis.steps import StepTimes, step_times
from strategy_lab.profiles.analysis.stragglers import Stragglers, stragglers
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.run.events import Environment

if TYPE_CHECKING:
    from strategy_lab.profiles.run.events import SegmentOpened
    from strategy_lab.profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `share` is the share of a step that it explains; None if it is not a share."""

    key: str
    segment: int
    sentence: str
    advice: str
    share: float | None
    evidence: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the questions about a segment were answered."""

    segment: SegmentOpened
    environment: Environment | None
    steps: StepTimes
    breakdown: StepBreakdown
    communication: Communication
    stragglers: Stragglers
    input: InputShare
    capture: CaptureCost
    held_up: HeldUp
    retracing: Retracing
    read_overlaps: Callable[[], tuple[Overlap, ...]]

    @property
    def overlaps(self) -> tuple[Overlap, ...]:
        """Read when first asked for: the spans take longer than everything else together."""
        return self.read_overlaps()


def gather_facts(profile: Profile, segment: SegmentOpened) -> Facts:
    number = segment.segment
    return Facts(
        segment=segment,
        environment=profile.environment,
        steps=step_times(profile, number),
        breakdown=step_breakdown(profile, segment),
        communication=communication(profile, segment),
        stragglers=stragglers(profile, number),
        input=input_share(profile, number),
        capture=capture_cost(profile, number),
        held_up=held_up(profile, number),
        retracing=retracing(profile, number),
        read_overlaps=lambda: profile.once(("overlaps", number), lambda: overlaps(profile, number)),
    )


def finding(
    facts: Facts, key: str, sentence: str, advice: str, share: float | None, **evidence: Any
) -> Finding:
    return Finding(key, facts.segment.segment, sentence, advice, share, evidence)


def of_a_step(facts: Facts, part_ms: float, wall_ms: float) -> str:
    """`45 % of a typical captured step (4.84 of 10.8 ms)`: a part beside the whole that it is of.

    Both are means over the typical steps of the breakdown. A worker's own step at parameter servers
    is longer than the time from result to result.
    """
    if not facts.breakdown.is_in_sync:
        which = "a worker's step"
    elif facts.breakdown.source == "measured":
        which = "a typical captured step"
    else:
        which = "a typical step"
    lengths = f"{units.number(part_ms)} of {units.milliseconds(wall_ms)}"
    return f"{units.share(part_ms / wall_ms)} of {which} ({lengths})"
