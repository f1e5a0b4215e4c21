"""How long do steps take? Which steps count, and their spread and throughput.

The first step of a segment traces the program and allocates its memory: it is counted, and left
out of every time. Where it is the only one, it is all there is, and is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from strategy_lab.profiles.columns import Bools, Floats, Ints, bools, floats, ints, of_segment

if TYPE_CHECKING:
    from strategy_lab.profiles.store import Profile


@dataclass(frozen=True, slots=True)
class StepTimes:
    """The steps of a segment in order, arrays of one length; a missing value is NaN."""

    segment: int
    step: Ints
    start_ns: Ints
    wall_ms: Floats
    input_ms: Floats
    loss: Floats
    examples: Floats
    captured: Bools
    num_warm_up: int
    """Steps at the start that no time statistic counts."""

    @property
    def count(self) -> int:
        return len(self.step)

    @property
    def timed_ms(self) -> Floats:
        """Wall time of the steps that count."""
        return self.wall_ms[self.num_warm_up :]

    @property
    def median_ms(self) -> float | None:
        return self.quantile_ms(0.5)

    @property
    def first_step_ms(self) -> float | None:
        """The step that traces."""
        return float(self.wall_ms[0]) if self.count else None

    @property
    def examples_per_second(self) -> float | None:
        """Examples over wall time, of the timed steps that know their examples."""
        examples, wall = self.examples[self.num_warm_up :], self.timed_ms
        known = np.isfinite(examples)
        total_ms = float(wall[known].sum())
        return float(examples[known].sum()) / total_ms * 1e3 if total_ms > 0 else None

    @property
    def first_loss(self) -> float | None:
        known = self.loss[np.isfinite(self.loss)]
        return float(known[0]) if known.size else None

    @property
    def last_loss(self) -> float | None:
        known = self.loss[np.isfinite(self.loss)]
        return float(known[-1]) if known.size else None

    def quantile_ms(self, share: float) -> float | None:
        return float(np.quantile(self.timed_ms, share)) if self.timed_ms.size else None


def step_times(profile: Profile, segment: int) -> StepTimes:
    """The steps of a segment whose length is known, by step number."""
    rows = of_segment(profile.table("steps"), segment)
    rows = rows.filter(pa.array(np.isfinite(floats(rows, "wall_ms"))))
    order = np.argsort(ints(rows, "step"), kind="stable")
    return StepTimes(
        segment=segment,
        step=ints(rows, "step")[order],
        start_ns=ints(rows, "start_ns")[order],
        wall_ms=floats(rows, "wall_ms")[order],
        input_ms=floats(rows, "input_ms")[order],
        loss=floats(rows, "loss")[order],
        examples=floats(rows, "examples")[order],
        captured=bools(rows, "captured")[order],
        num_warm_up=1 if rows.num_rows > 1 else 0,
    )


def typical_steps(step: Ints, wall_ms: Floats) -> Ints:
    """The middle half of the steps by wall time, from one row or several per step.

    A mean over them is hardly moved by a hiccup, and its parts still add up, which medians of
    parts would not.
    """
    known = np.isfinite(wall_ms)
    numbers, place = np.unique(step[known], return_inverse=True)
    if len(numbers) < 4:
        return numbers
    wall = np.bincount(place, wall_ms[known]) / np.bincount(place)
    low = np.quantile(wall, 0.25, method="lower")
    high = np.quantile(wall, 0.75, method="higher")
    typical: Ints = numbers[(low <= wall) & (wall <= high)]
    return typical


def typical_captured_steps(profile: Profile, segment: int) -> Ints:
    """The captured steps of a segment whose times count: the typical ones, tracing left out."""
    captured = of_segment(profile.table("replica_steps"), segment)
    step, wall_ms = ints(captured, "step"), floats(captured, "wall_ms")
    steps = step_times(profile, segment)
    counts = ~np.isin(step, steps.step[: steps.num_warm_up])
    return typical_steps(step[counts], wall_ms[counts])
