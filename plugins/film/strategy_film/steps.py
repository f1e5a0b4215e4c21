"""The steps of a run that can be filmed, and why a run has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from strategy_profiles.analysis.no_capture import ANNOTATE_STEPS, why_no_capture
from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.run.topology import has_servers
from strategy_profiles.tables.columns import floats, ints
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.one_clock import uncaptured_steps

MAX_UNCAPTURED = 100


@dataclass(frozen=True, slots=True)
class FilmStep:
    """A step by its number, and its wall time."""

    segment: int
    step: int
    wall_ms: float
    source: str
    """`measured` by a capture, or `marks`: in-graph timestamps of each worker."""

    @property
    def title(self) -> str:
        return f"step {self.step:,}, {self.wall_ms:.3g} ms"


def film_steps(profile: Profile) -> tuple[FilmStep, ...]:
    """Return the captured steps in order, each as long as its slowest replica.

    Without captures, return the newest timed steps; with parameter servers, the newest closures.
    """
    rows = profile.table("replica_steps")
    source = "measured" if rows.num_rows else "marks"
    if not rows.num_rows:
        rows = _uncaptured(profile)
    known = {segment.segment for segment in profile.segments}
    longest: dict[tuple[int, int], float] = {}
    columns = (ints(rows, "segment"), ints(rows, "step"), floats(rows, "wall_ms"))
    for segment, step, wall in zip(*(each.tolist() for each in columns), strict=True):
        if segment in known and wall > 0:  # NaN: unknown length
            longest[segment, step] = max(longest.get((segment, step), 0.0), wall)
    ordered = sorted(longest.items())
    kept = ordered if source == "measured" else ordered[-MAX_UNCAPTURED:]
    return tuple(FilmStep(*key, wall, source) for key, wall in kept)


def _uncaptured(profile: Profile) -> pa.Table:
    closures = profile.table("closures")
    if closures.num_rows:
        return closures
    steps = profile.table("steps")
    return steps.filter(pa.array(np.isin(ints(steps, "step"), uncaptured_steps(profile))))


def usual_step(profile: Profile, steps: Sequence[FilmStep]) -> FilmStep:
    """Return the step of median length among the typical ones of the last segment."""
    last = steps[-1].segment
    typical = set(typical_captured_steps(profile, last).tolist())
    own = [item for item in steps if item.segment == last]
    among = sorted([item for item in own if item.step in typical] or own, key=lambda s: s.wall_ms)
    return among[(len(among) - 1) // 2]


def why_no_film(profile: Profile) -> tuple[str, str]:
    """Return why the run has no step to film, and what to do."""
    if profile.is_imported:
        reason = profile.unknown.get("steps", "the profile has no steps")
        return f"A film needs a step: {reason}.", ANNOTATE_STEPS
    is_over = profile.status.is_over
    if is_over and profile.segments and has_servers(profile.segments[-1]):
        return "No worker of this run recorded a step.", "Run more steps."
    return why_no_capture(profile)
