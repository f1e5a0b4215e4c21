"""The key numbers of a segment: what every page, report and command line shows under one name.

Step time: median of the timed steps. Throughput: their examples over their wall time. Slowest
replica: the latest of those that stand out. Main collective: the one that moves most bytes of
those with a bus bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from strategy_lab.profiles.analysis.communication import (
    Communication,
    communication,
    main_collective,
)
from strategy_lab.profiles.analysis.steps import StepTimes, step_times
from strategy_lab.profiles.analysis.stragglers import ReplicaLateness, Stragglers, stragglers

if TYPE_CHECKING:
    from strategy_lab.profiles.run.events import SegmentOpened
    from strategy_lab.profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class KeyNumbers:
    """None where a number could not be had."""

    num_timed: int
    """Steps behind the step time and the throughput."""
    step_ms: float | None
    examples_per_second: float | None
    slowest: ReplicaLateness | None
    """None where no replica stands out, or none can be compared."""
    slowest_reason: str | None
    """Why replicas cannot be compared, where they cannot."""
    main_collective: str | None
    busbw_gbps: float | None
    """Of the main collective."""
    collective_bytes: float | None
    """Of all collectives, per step."""


def key_numbers(steps: StepTimes, late: Stragglers, traffic: Communication) -> KeyNumbers:
    """The key numbers from the answers of the three questions that they are from."""
    main = main_collective(traffic.collectives)
    return KeyNumbers(
        num_timed=int(steps.timed.sum()),
        step_ms=steps.median_ms,
        examples_per_second=steps.examples_per_second,
        slowest=late.straggler,
        slowest_reason=late.reason,
        main_collective=main.op if main else None,
        busbw_gbps=main.busbw_gbps if main else None,
        collective_bytes=traffic.collective_bytes if traffic.collectives else None,
    )


def segment_numbers(profile: Profile, segment: SegmentOpened) -> KeyNumbers:
    """The key numbers of a segment of a run."""
    return key_numbers(
        step_times(profile, segment.segment),
        stragglers(profile, segment.segment),
        communication(profile, segment),
    )
