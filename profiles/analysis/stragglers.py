"""Which replica do the others wait for, by how much, and what would the run be without it?

late_r = median over steps of (median wait of the others - own wait): whoever is awaited waits
least. Waits of one step were read on one clock, so they compare across replicas.

What-if (after Lin et al., "Understanding Stragglers in Large Model Training Using What-if
Analysis", ByteDance 2025): replay every step as the slowest replica's work plus the usual rest.
S = T / T_ideal, where ideally every replica works as long as the typical one (the lower median,
so that of two replicas the quicker one is typical); S_r is the same with replica r alone as it
was. Always read with the replay error |T_replay - T| / T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from profiles.analysis.columns import Floats, floats, ints, of_segment
from profiles.analysis.steps import StepTimes, step_times

if TYPE_CHECKING:
    from profiles.store import Profile

NOTICEABLE_SHARE = 0.05
"""A straggler is late by at least this share of a step..."""
NOTICEABLE_MS = 0.2
"""...and by at least this long..."""
MOSTLY_LAST = 0.5
"""...and the last one to arrive in at least this share of the steps."""
MIN_STEPS = 3


@dataclass(frozen=True, slots=True)
class ReplicaLateness:
    """One replica against the others."""

    replica: int
    late_ms: float
    """Median; negative where the others wait less than it does."""
    last_share: float
    """Share of the steps in which it arrived last."""
    score: float
    """late_ms over its spread between steps (1.4826 * median absolute deviation)."""
    slowdown: float
    """S_r: how much longer the run gets if this replica alone is as slow as it was."""


@dataclass(frozen=True, slots=True)
class Stragglers:
    """The answer for a segment. `straggler` is None where no replica stands out."""

    segment: int
    num_steps: int
    source: Literal["measured", "marks"] | None
    replicas: tuple[ReplicaLateness, ...]
    straggler: ReplicaLateness | None
    slowdown: float | None
    """S of the whole segment."""
    replay_error: float | None
    reason: str | None = None
    """Why there is no answer, where there is none."""

    @property
    def latest(self) -> ReplicaLateness | None:
        """The replica that the others wait for most, whether or not it stands out."""
        return max(self.replicas, key=lambda item: item.late_ms, default=None)


def stragglers(profile: Profile, segment: int) -> Stragglers:
    """Compare the replicas of a segment, its tracing step left out."""
    steps = step_times(profile, segment)
    marks = _timed(of_segment(profile.table("marks"), segment), steps)
    captured = _timed(of_segment(profile.table("replica_steps"), segment), steps)
    use_marks = len(np.unique(ints(marks, "step"))) >= len(np.unique(ints(captured, "step")))
    rows = marks if use_marks else captured
    source: Literal["measured", "marks"] = "marks" if use_marks else "measured"
    replicas, number, wait, work = _matrices(rows, source)
    if len(replicas) < 2:
        return _unanswered(segment, "a straggler needs two replicas with measured times")
    if len(number) < MIN_STEPS:
        return _unanswered(segment, f"fewer than {MIN_STEPS} steps with every replica's time")
    wall = steps.wall_ms[np.searchsorted(steps.step, number)]
    found = _compare(replicas, wait, work, wall)
    worst = max(found, key=lambda item: item.late_ms)
    typical, rest = _typical(work), wall - work.max(axis=1)
    replay = work.max(axis=1).sum() + np.median(rest) * len(wall)
    return Stragglers(
        segment=segment,
        num_steps=len(number),
        source=source,
        replicas=found,
        straggler=worst if _stands_out(worst, float(np.median(wall))) else None,
        slowdown=float(replay / (typical.sum() + np.median(rest) * len(wall))),
        replay_error=float(abs(replay - wall.sum()) / wall.sum()),
    )


def _timed(rows: pa.Table, steps: StepTimes) -> pa.Table:
    """The rows of steps that count, and whose length is known."""
    known = steps.step[steps.num_warm_up :][np.isfinite(steps.timed_ms)]
    return rows.filter(pa.array(np.isin(ints(rows, "step"), known)))


def _matrices(rows: pa.Table, source: str) -> tuple[list[int], np.ndarray, Floats, Floats]:
    """Replicas, steps, and `[step, replica]` wait and work (what it does before it can wait)."""
    replica, step = ints(rows, "replica"), ints(rows, "step")
    wait, work = floats(rows, "wait_ms"), floats(rows, "compute_ms")
    if source == "measured":
        work = work + np.nan_to_num(floats(rows, "input_ms"))
    replicas, column = np.unique(replica, return_inverse=True)
    number, row = np.unique(step, return_inverse=True)
    shape = (len(number), len(replicas))
    waits, works = np.full(shape, np.nan), np.full(shape, np.nan)
    waits[row, column], works[row, column] = wait, work
    whole = np.isfinite(waits).all(axis=1) & np.isfinite(works).all(axis=1)
    return replicas.tolist(), number[whole], waits[whole], works[whole]


def _compare(
    replicas: list[int], wait: Floats, work: Floats, wall: Floats
) -> tuple[ReplicaLateness, ...]:
    typical, rest = _typical(work), float(np.median(wall - work.max(axis=1))) * len(wall)
    last = wait.argmin(axis=1)
    found = []
    for column, replica in enumerate(replicas):
        others = np.delete(wait, column, axis=1)
        late = np.median(others, axis=1) - wait[:, column]
        late_ms = float(np.median(late))
        spread = 1.4826 * float(np.median(np.abs(late - late_ms)))
        alone = np.maximum(typical, work[:, column]).sum()
        found.append(
            ReplicaLateness(
                replica=replica,
                late_ms=late_ms,
                last_share=float(np.mean(last == column)),
                score=late_ms / max(spread, 1e-3),
                slowdown=float((alone + rest) / (typical.sum() + rest)),
            )
        )
    return tuple(found)


def _typical(work: Floats) -> Floats:
    """Per step the lower median over replicas."""
    ordered = np.sort(work, axis=1)
    typical: Floats = ordered[:, (work.shape[1] - 1) // 2]
    return typical


def _stands_out(worst: ReplicaLateness, wall_ms: float) -> bool:
    return (
        worst.late_ms >= max(NOTICEABLE_MS, NOTICEABLE_SHARE * wall_ms)
        and worst.last_share >= MOSTLY_LAST
    )


def _unanswered(segment: int, reason: str) -> Stragglers:
    return Stragglers(segment, 0, None, (), None, None, None, reason)
