"""An edit of the batch, fitted to another segment of the run that recorded another batch.

One recording cannot tell which part of an op's time is fixed; `batch_edit` assumes it. After a live
change of the batch, a run has recorded two. The fixed time of an op is then the one with which the
steps of this segment, edited to the batch of the other, take as long as the other's did. One number
for all ops follows from one measured length; the ops of two segments are not compared one by one,
because each has its own noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from strategy_lab.profiles.replay.batch_edit import OtherBatch, other_batch
from strategy_lab.profiles.replay.recording import ReplayError
from strategy_lab.profiles.replay.replays import Replays, replays
from strategy_lab.profiles.replay.what_if import interval_of_median, predict
from strategy_lab.profiles.run.events import SegmentOpened

if TYPE_CHECKING:
    from strategy_lab.profiles.tables.store import Profile

_GRID_NS = (0.0, 15e3, 30e3, 60e3, 120e3, 250e3, 500e3, 1e6, 4e6)
"""Fixed times that are tried; the fitted one lies between two of them."""
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
    """Return the edit with the fixed time that explains the steps of `other`.

    Its extremes explain the ends of the interval (90 %) of their median. If no fixed time explains
    them, because other things differ between the segments, the edit is returned unchanged.
    """
    reached_ms = [
        predict(known, [replace(edit, batch=_batch(other), fixed_ns=fixed, extremes=())])
        .predicted_ms
        for fixed in _GRID_NS
    ]  # fmt: skip
    lengths_ms = np.array([step.graph.wall_ns for step in other.steps]) / 1e6
    low_ms, high_ms = interval_of_median(lengths_ms)
    if high_ms < min(reached_ms) or low_ms > max(reached_ms):
        return edit
    order = np.argsort(reached_ms, kind="stable")
    lengths, grid = np.array(reached_ms)[order], np.array(_GRID_NS)[order]
    middle, *ends = np.interp([float(np.median(lengths_ms)), low_ms, high_ms], lengths, grid)
    both = sorted(each.recording.segment.segment for each in (known, other))
    source = f"from segments {both[0]} and {both[1]}"
    found = replace(edit, fixed_ns=float(middle), source=source, extremes=())
    return replace(found, extremes=tuple(replace(found, fixed_ns=float(end)) for end in ends))


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
