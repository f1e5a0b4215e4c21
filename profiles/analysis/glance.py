"""A run at a glance, for lists of many: what it was, how far it got, how fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strategy_lab.profiles.analysis.steps import step_times
from strategy_lab.profiles.run.status import Status
from strategy_lab.profiles.tables.columns import Floats, ints
from strategy_lab.profiles.tables.store import Profile

SPARK_POINTS = 60


@dataclass(frozen=True, slots=True)
class Glance:
    """One line of a list of runs. None where the run recorded nothing of it."""

    status: Status
    strategies: tuple[str, ...]
    """Strategy and replicas of each segment: `mirrored ×4`; repeats in a row are left out."""
    workload: str | None
    num_replicas: int | None
    """Replicas of the last segment; `num_workers` likewise."""
    num_workers: int | None
    num_steps: int
    step_ms: float | None
    """Median wall time of the timed steps of all segments."""
    last_loss: float | None
    spark_ms: tuple[float, ...]
    """Median step time of up to 60 equal parts of the run, in order."""


def glance(profile: Profile) -> Glance:
    """Read the steps of a run, and nothing larger."""
    steps = profile.table("steps")
    wall = _timed(profile)
    losses = steps["loss"].drop_null()
    segments = profile.segments
    titles = [f"{segment.strategy} ×{segment.num_replicas}" for segment in segments]
    workload = (profile.spec or {}).get("workload")
    return Glance(
        status=profile.status,
        strategies=tuple(
            title for i, title in enumerate(titles) if i == 0 or titles[i - 1] != title
        ),
        workload=str(workload) if workload else None,
        num_replicas=segments[-1].num_replicas if segments else None,
        num_workers=segments[-1].num_workers if segments else None,
        num_steps=steps.num_rows,
        step_ms=float(np.median(wall)) if wall.size else None,
        last_loss=losses[-1].as_py() if len(losses) else None,
        spark_ms=tuple(
            float(np.median(part))
            for part in np.array_split(wall, min(SPARK_POINTS, wall.size) or 1)
            if part.size
        ),
    )


def _timed(profile: Profile) -> Floats:
    """The lengths of the steps that count, segment by segment (see `steps`)."""
    numbers = np.unique(ints(profile.table("steps"), "segment")).tolist()
    parts = [step_times(profile, number).timed_ms for number in numbers]
    return np.concatenate([np.zeros(0), *parts])
