"""Divides the time of the steps: tracing, the phases of the replicas, ops by layer and type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from strategy_profiles.analysis.account.first_batches import first_batches, long_waits
from strategy_profiles.analysis.account.op_time import op_times
from strategy_profiles.analysis.account.regions import Part, Regions, split
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.account.sampled import SMALLEST, makes_iterator, rows_of, whole_row
from strategy_profiles.analysis.breakdown import step_breakdown
from strategy_profiles.analysis.causes import held_up
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.event_parts import StackPlace
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile

MOST_OPS = 10
_KERAS = ("validation", "predict", "checkpoint")
_ASIDE = ("tracing", "recording", "epoch-start", *_KERAS)
"""What a replica's phases do not include. A step lasts from its batch to its last call, and a
program may call Keras's `predict` between the two, or make an iterator for each step."""


def step_rows(profile: Profile, segment: SegmentOpened, regions: Regions) -> Iterator[Row]:
    """Tracing and recording by samples, the rest by the phases of captured steps, or samples."""
    parts = split(regions, regions.is_step, regions.steps_ms)
    left_ms = regions.steps_ms
    for kind in _ASIDE:
        members = [part for part in parts if _aside(part.place) == kind]
        if members:
            row = whole_row(f"loop/steps/{kind}", kind, members)
            left_ms -= row.total_ms
            yield row
    # Derived from whole steps: a part of these may have been sampled as tracing or recording.
    for kind, total_ms, num_times in _derived(profile, segment.segment):
        derived_ms = min(total_ms, left_ms)
        if derived_ms > 0:
            left_ms -= derived_ms
            yield _at_most_sampled(kind, derived_ms, num_times, parts)
    breakdown = step_breakdown(profile, segment)
    phases = {name: breakdown.mean_ms(name) or 0.0 for name in CATEGORIES}
    if sum(phases.values()):
        lengths = _scaled(phases, _usual_waits_ms(profile, segment.segment), left_ms)
        for name, length in lengths.items():
            if length > 0:
                yield Row(f"loop/steps/{name}", name, length, "derived")
        yield from _launches(profile, segment.segment, phases, lengths.get("idle", 0.0))
        yield from _ops(profile, segment.segment, lengths.get("compute", 0.0), regions.loop_ms)
        return
    others = [part for part in parts if _aside(part.place) is None]
    others_ms = sum(part.ms for part in others)
    scaled = [part._replace(ms=part.ms * left_ms / others_ms) for part in others]
    yield from rows_of("loop/steps", scaled, regions, "steps")
    if not others and left_ms > 0:
        yield Row("loop/steps/rest", "rest", left_ms, "rest")


def _aside(place: StackPlace) -> str | None:
    """The row beside the phases that a sample belongs to; None if it is in the phases."""
    if place.doing == "recording" or (place.doing == "tracing" and not place.within):
        return place.doing
    if not place.within and makes_iterator(place):
        return "epoch-start"
    return place.within if place.within in _KERAS else None


def _derived(profile: Profile, segment: int) -> Iterator[tuple[str, float, int]]:
    """Kind, total and number of times of what XLA takes to compile in later steps, and of the wait
    for the first batch of an epoch in `fit`."""
    recompiling = step_times(profile, segment).recompiling
    if recompiling is not None:
        yield "compiling", recompiling.total_ms, int(recompiling.compiles.sum())
    yield "first-batch", *first_batches(profile, segment)


def _at_most_sampled(kind: str, total_ms: float, num_times: int, parts: Sequence[Part]) -> Row:
    """A derived part of the steps, at the line that most of their samples are at."""
    most = max(parts, key=lambda part: part.ms, default=None)
    frame = most.place.frames[-1] if most and most.place.frames else None
    return Row(
        f"loop/steps/{kind}",
        kind,
        total_ms,
        "derived",
        num_times=num_times,
        file=frame.file if frame else None,
        line=frame.line if frame else None,
        text=frame.text if frame else None,
    )


def _launches(
    profile: Profile, segment: int, phases: dict[str, float], idle_ms: float
) -> Iterator[Row]:
    """The part of the idle time of GPUs that passes until their next kernel is launched."""
    launch_ms = held_up(profile, segment).launch_ms
    if launch_ms and idle_ms:
        share = min(1.0, launch_ms / phases["idle"])
        yield Row("loop/steps/idle/launch", "launch", share * idle_ms, "derived")


def _usual_waits_ms(profile: Profile, segment: int) -> float | None:
    """The wait for batches of all later steps, without first batches; None if it is not measured
    in each."""
    steps = step_times(profile, segment)
    later = np.where(long_waits(profile, segment), 0.0, steps.input_ms)[steps.num_warm_up :]
    return float(later.sum()) if len(later) and np.isfinite(later).all() else None


def _scaled(phases: dict[str, float], waits_ms: float | None, left_ms: float) -> dict[str, float]:
    """Scale the phases to all steps, except for the wait for batches, if that was measured."""
    fixed = {} if waits_ms is None else {"input": min(waits_ms, left_ms)}
    scaled = {name: ms for name, ms in phases.items() if name not in fixed}
    whole, to_scale_ms = sum(scaled.values()), left_ms - sum(fixed.values())
    return {name: ms * to_scale_ms / whole for name, ms in scaled.items() if whole} | fixed


def _file_and_line(place: str | None) -> dict[str, Any]:
    """The file and line of a row, of `/home/me/train.py:12`."""
    file, _, line = (place or "").rpartition(":")
    return {"file": file, "line": int(line)} if file and line.isdecimal() else {}


def _ops(profile: Profile, segment: int, compute_ms: float, loop_ms: float) -> Iterator[Row]:
    times = op_times(profile, segment)
    if not compute_ms or not times:
        return
    smallest = SMALLEST * loop_ms / compute_ms
    listed = [time for time in times[:MOST_OPS] if time.share >= smallest]
    for number, time in enumerate(listed):
        yield Row(
            f"loop/steps/compute/{number}",
            "op",
            time.share * compute_ms,
            "derived",
            **_file_and_line(time.line),
            op=time.op,
            layer=time.layer,
        )
    left = 1.0 - sum(time.share for time in listed)
    if left > 1e-9:
        yield Row("loop/steps/compute/others", "op", left * compute_ms, "derived")
