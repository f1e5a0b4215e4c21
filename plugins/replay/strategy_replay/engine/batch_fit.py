"""An edit of the batch, fitted to another segment of the run that recorded another batch.

One recording cannot tell which part of an op's time is fixed; `batch_edit` assumes it. After a live
change of the batch, a run has recorded two. The steps of this segment, edited to the batch of the
other, should take as long as the other's did, and that tells the fixed time, one for all ops: the
ops of two segments are not compared one by one, because each has its own noise.

    p(fixed | T) ~ exp(-z_T^2 / 2) exp(-z_f^2 / 2)
    z_T = ln(T_edited(fixed) / T_other) / sigma_T       z_f = ln(fixed / 60 us) / sigma_f

sigma_f is that of `batch_edit.SPREAD`, sigma_T the noise between two segments. Without it (tried
first: the fixed time that explains the other's steps exactly) the noise of a doubled batch is
extrapolated to four times the batch. On a quiet machine, steps of 9 ms were then predicted to take
8.8, 9.4 and 21 ms with four times the batch, and took 12 to 14.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.batch_edit import (
    FIXED_NS,
    SPREAD,
    OtherBatch,
    other_batch,
)
from strategy_replay.engine.replays import Replays, replays
from strategy_replay.engine.what_if import interval_of_median, predict

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

_GRID_NS = (7.5e3, 15e3, 30e3, 60e3, 120e3, 240e3, 480e3, 960e3)
"""Fixed times for which steps are replayed; between two of them lengths are interpolated."""
_BETWEEN_SEGMENTS = 0.09
"""Alternating segments of one run with equal specs differed by 8.8 % (180 of 200 steps each)."""
_FARTHEST = 3.0
"""Standard deviations beyond all fixed times at which something else explains the steps."""
_ENDS = (0.05, 0.5, 0.95)
_90_PERCENT = 1.645
"""Standard deviations on each side of the mean that hold 90 % of a normal distribution."""
_OF_THE_BATCH = ("global_batch_size", "reconfigure")
"""Fields of the spec that may differ: the changes ahead are another list after each change."""


def batch_change(profile: Profile, segment: int, batch: int) -> OtherBatch:
    """Return the edit of a segment's steps to another global batch, fitted where that is possible.

    Raises ReplayError if the recording does not allow a prediction.
    """
    known = replays(profile, segment)
    edit = other_batch(known, batch)
    others = list(at_other_batches(profile, known.recording.segment))
    if not others:
        return edit
    nearest = min(others, key=lambda other: abs(math.log(_batch(other) / batch)))
    return fitted(edit, known, nearest)


def fitted(edit: OtherBatch, known: Replays, other: Replays) -> OtherBatch:
    """Return the edit with the fixed time that the steps of `other` and experience suggest.

    Its extremes have the ends of the interval (90 %) of that fixed time. If no fixed time explains
    the steps, because other things differ between the segments, the edit keeps its own.
    """
    to_other = replace(edit, batch=_batch(other), extremes=())
    reached_ms = [
        predict(known, [replace(to_other, fixed_ns=fixed)]).predicted_ms for fixed in _GRID_NS
    ]
    lengths_ms = np.array([step.graph.wall_ns for step in other.steps]) / 1e6
    low_ms, high_ms = interval_of_median(lengths_ms)
    measured_ms = float(np.median(lengths_ms))
    of_median = math.log(high_ms / low_ms) / (2 * _90_PERCENT)
    noise = math.hypot(of_median, _BETWEEN_SEGMENTS)
    too_short = math.log(min(reached_ms) / measured_ms)
    too_long = math.log(measured_ms / max(reached_ms))
    if max(too_short, too_long) > _FARTHEST * noise:
        return replace(edit, what_to_record="")
    least_ns, fixed_ns, most_ns = _likely_fixed_ns(reached_ms, measured_ms, noise)
    both = sorted(each.recording.segment.segment for each in (known, other))
    source = f"from segments {both[0]} and {both[1]}"
    estimate = replace(edit, fixed_ns=fixed_ns, source=source, extremes=(), what_to_record="")
    return replace(
        estimate,
        extremes=(
            replace(estimate, fixed_ns=least_ns, does_wait=True),
            replace(estimate, fixed_ns=most_ns),
        ),
    )


def _likely_fixed_ns(
    reached_ms: Sequence[float], measured_ms: float, noise: float
) -> tuple[float, float, float]:
    """Return the 5 %, 50 % and 95 % quantiles of the fixed time.

    `reached_ms` are the lengths that the fixed times of the grid give, `noise` is sigma_T.
    """
    fine = np.linspace(math.log(_GRID_NS[0]), math.log(_GRID_NS[-1]), 200)
    lengths_ms = np.interp(fine, np.log(_GRID_NS), reached_ms)
    from_measured = np.log(lengths_ms / measured_ms) / noise
    from_usual = (fine - math.log(FIXED_NS)) / (math.log(SPREAD) / _90_PERCENT)
    weights = np.exp(-(from_measured**2 + from_usual**2) / 2)
    least, middle, most = np.exp(np.interp(_ENDS, np.cumsum(weights) / weights.sum(), fine))
    return float(least), float(middle), float(most)


def _batch(known: Replays) -> int:
    return known.recording.segment.global_batch_size or 1


def at_other_batches(profile: Profile, opened: SegmentOpened) -> Iterator[Replays]:
    """Yield the replays of the segments that differ from this one in the batch alone."""
    for item in profile.segments:
        batch = item.global_batch_size
        if batch and batch != opened.global_batch_size and _but_batch(item) == _but_batch(opened):
            try:
                yield replays(profile, item.segment)
            except ReplayError:
                continue


def _but_batch(opened: SegmentOpened) -> tuple[object, ...]:
    spec = {key: value for key, value in opened.spec.items() if key not in _OF_THE_BATCH}
    return opened.replica_devices, opened.cross_device_ops, spec
