"""One row of a list of runs: what a run was, how far it got, how fast."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strategy_profiles.analysis.loop_pace import loop_pace
from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.run.status import Status
from strategy_profiles.tables.columns import ints
from strategy_profiles.tables.store import Profile

SPARK_POINTS = 60


@dataclass(frozen=True, slots=True)
class RunRow:
    """One row of a list of runs. What the run did not record is None."""

    status: Status
    strategies: tuple[str, ...]
    """Strategy and replicas of each segment: `mirrored ×4`; repeats in a row are left out."""
    workload: str | None
    num_replicas: int | None
    """Replicas of the last segment; `num_workers` likewise."""
    num_workers: int | None
    num_steps: int
    loop_ms: float | None
    """Wall time of the loop per step, without its first one, of the last segment that knows it."""
    step_ms: float | None
    """Median wall time of the timed steps of the last segment that has any."""
    examples_per_second: float | None
    """Of the loop of the last segment that knows it."""
    global_batch_size: int | None
    """Of the last segment."""
    last_loss: float | None
    spark_ms: tuple[float, ...]
    """Median step time of up to 60 equal parts of the run, in order."""


def run_row(profile: Profile) -> RunRow:
    """Read the steps of a run and the samples of its stack, and nothing larger."""
    steps = profile.table("steps")
    times = _times(profile)
    wall = np.concatenate([np.zeros(0), *(part.timed_ms for part in times)])
    medians = [median for part in times if (median := part.median_ms) is not None]
    paces = [loop_pace(profile, part.segment) for part in times]
    loops = [pace.ms_per_step for pace in paces if pace.ms_per_step is not None]
    rates = [rate for pace in paces if (rate := pace.examples_per_second) is not None]
    losses = steps["loss"].drop_null()
    segments = profile.segments
    titles = [f"{segment.strategy} ×{segment.num_replicas}" for segment in segments]
    workload = (profile.spec or {}).get("workload")
    return RunRow(
        status=profile.status,
        strategies=tuple(
            title for i, title in enumerate(titles) if i == 0 or titles[i - 1] != title
        ),
        workload=str(workload) if workload else None,
        num_replicas=segments[-1].num_replicas if segments else None,
        num_workers=segments[-1].num_workers if segments else None,
        num_steps=steps.num_rows,
        loop_ms=loops[-1] if loops else None,
        step_ms=medians[-1] if medians else None,
        examples_per_second=rates[-1] if rates else None,
        global_batch_size=segments[-1].global_batch_size if segments else None,
        last_loss=losses[-1].as_py() if len(losses) else None,
        spark_ms=tuple(
            float(np.median(part))
            for part in np.array_split(wall, min(SPARK_POINTS, wall.size) or 1)
            if part.size
        ),
    )


def _times(profile: Profile) -> list[StepTimes]:
    """The steps of each segment."""
    numbers = np.unique(ints(profile.table("steps"), "segment")).tolist()
    return [step_times(profile, number) for number in numbers]
