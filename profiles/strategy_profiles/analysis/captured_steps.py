"""Whether the captured steps took about as long as the others, whose step time is shown.

A capture slows a program down, and an early one finds full input buffers. Shares, waits and
exposed communication come from captured steps: where those are unlike the others, each place that
shows such a number says how long they took.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.breakdown import StepBreakdown
from strategy_profiles.reporting import units

UNLIKE = 1.5
"""Captured steps are unlike the others from this ratio of their lengths on, either way."""


def unlike_others_ms(breakdown: StepBreakdown, median_ms: float | None) -> float | None:
    """The mean length of captured steps if it is unlike the median step; otherwise None."""
    wall = breakdown.mean_ms("wall")
    if not breakdown.is_in_sync or breakdown.source != "measured" or not wall or not median_ms:
        return None
    return wall if is_unlike(wall, median_ms) else None


def is_unlike(captured_ms: float, median_ms: float) -> bool:
    """Whether captured steps of this length are unlike the median step."""
    return not 1 / UNLIKE < captured_ms / median_ms < UNLIKE


def sentence_if_unlike(breakdown: StepBreakdown, median_ms: float | None) -> str | None:
    """Say how long captured steps take if that is unlike the median step; otherwise None."""
    wall = unlike_others_ms(breakdown, median_ms)
    if wall is None:
        return None
    return (
        f"The captured steps took {units.milliseconds(wall)} on average, other steps take "
        f"{units.milliseconds(median_ms)}: compare the shares, not the lengths."
    )


def length_of_steps(breakdown: StepBreakdown, median_ms: float | None) -> Iterator[str]:
    """Say where the length of captured steps would mislead: it is unlike that of the others."""
    wall = breakdown.mean_ms("wall")
    if wall and median_ms and not breakdown.is_in_sync:
        yield (
            f"The steps of the workers overlap: one takes {units.milliseconds(wall)} on "
            f"average, and one ends every {units.milliseconds(median_ms)}."
        )
    elif unlike := sentence_if_unlike(breakdown, median_ms):
        yield unlike
