"""The recorded rows of one step, on one clock, with times counted from the film's start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from strategy_film.steps import FilmStep
from strategy_profiles.errors import LabError
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.topology import has_servers
from strategy_profiles.tables.columns import floats, ints, of_segment, texts
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.one_clock import table_on_one_clock, uncaptured_ranks

Bounds = tuple[int, int]


@dataclass(frozen=True, slots=True)
class OwnStep:
    """A replica's own step: from when to when, and how that is known."""

    worker: int
    device: str | None
    bounds: Bounds
    source: Literal["measured", "marks"]
    wait_ns: int | None = None
    """All its waits of the step, where a capture measured them."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What was recorded between `start_ns` and the end of the step's last replica."""

    segment: SegmentOpened
    step: FilmStep
    start_ns: int
    length_ns: int
    own: dict[int, OwnStep]
    """By replica; bounds count from the start."""
    spans: pa.Table
    """Those that overlap the film; `start_ns` counts from its start."""
    collectives: pa.Table
    transfers: pa.Table

    @property
    def whole(self) -> Bounds:
        return 0, self.length_ns


def rows_of(profile: Profile, step: FilmStep) -> Rows:
    """Return the rows of a step that `film_steps` gave."""
    segment = next(item for item in profile.segments if item.segment == step.segment)
    own = _own_steps(profile, segment, step)
    if not own:
        raise LabError(
            f"Step {step.step} has no times of a replica", advice="Choose another step to film"
        )
    start = min(item.bounds[0] for item in own.values())
    end = max(item.bounds[1] for item in own.values())
    own = {
        replica: replace(item, bounds=(item.bounds[0] - start, item.bounds[1] - start))
        for replica, item in sorted(own.items())
    }
    tables = [
        _within(profile, name, step.segment, (start, end))
        for name in ("spans", "collectives", "transfers")
    ]
    return Rows(segment, step, start, end - start, own, *tables)


def _own_steps(profile: Profile, segment: SegmentOpened, step: FilmStep) -> dict[int, OwnStep]:
    if has_servers(segment):
        return _of_closure(profile, segment, step)
    if step.source == "marks":
        return _of_marks(profile, segment, step)
    rows = _of_step(table_on_one_clock(profile, "replica_steps"), step)
    starts, walls = ints(rows, "start_ns"), floats(rows, "wall_ms")
    ends = starts + np.rint(np.nan_to_num(walls) * 1e6).astype(np.int64)
    waits = np.rint(np.nan_to_num(floats(rows, "wait_ms")) * 1e6).astype(np.int64)
    own_steps = {}
    for at, source in enumerate(texts(rows, "source")):
        is_measured = source != "marks"
        own_steps[int(ints(rows, "replica")[at])] = OwnStep(
            int(ints(rows, "worker")[at]),
            texts(rows, "device")[at],
            (int(starts[at]), int(ends[at])),
            "measured" if is_measured else "marks",
            int(waits[at]) if is_measured else None,
        )
    return own_steps


def _of_marks(profile: Profile, segment: SegmentOpened, step: FilmStep) -> dict[int, OwnStep]:
    """By replica the step of a film without a capture, from light timestamps."""
    rows, _ = uncaptured_ranks(profile)
    rows = rows.only((rows.segment == step.segment) & (rows.step == step.step))
    devices = dict(enumerate(segment.replica_devices))
    return {
        replica: OwnStep(worker, devices.get(replica), (begun, begun + wall), "marks")
        for replica, worker, begun, wall in zip(
            *(each.tolist() for each in (rows.replica, rows.worker, rows.start_ns, rows.wall_ns)),
            strict=True,
        )
    }


def _of_closure(profile: Profile, segment: SegmentOpened, step: FilmStep) -> dict[int, OwnStep]:
    """Workers of parameter servers do not share steps: all are shown during one worker's step."""
    row = _of_step(profile.table("closures"), step).slice(0, 1)
    begun = int(ints(row, "start_ns")[0])
    length_ms = floats(row, "wall_ms")[0]
    ended = int(ints(row, "finished_ns")[0])
    if np.isfinite(length_ms):
        ended = begun + round(length_ms * 1e6)
    return {
        replica: OwnStep(replica + 1, device, (begun, ended), "marks")
        for replica, device in enumerate(segment.replica_devices)
    }


def _of_step(table: pa.Table, step: FilmStep) -> pa.Table:
    return of_segment(table, step.segment).filter(pc.equal(pc.field("step"), step.step))


def _within(profile: Profile, name: str, segment: int, bounds: Bounds) -> pa.Table:
    """Return the rows that overlap the film, with their end in a column `end_ns`."""
    table = of_segment(table_on_one_clock(profile, name), segment)
    start = ints(table, "start_ns")
    end = start + _lengths(table, name)
    inside = (start < bounds[1]) & (end >= bounds[0])
    table = table.filter(pa.array(inside))
    index = table.schema.get_field_index("start_ns")
    counted = pa.array(start[inside] - bounds[0])
    table = table.set_column(index, "start_ns", counted)
    return table.append_column("end_ns", pa.array(end[inside] - bounds[0]))


def _lengths(table: pa.Table, name: str) -> np.ndarray:
    if name == "spans":
        return np.maximum(ints(table, "duration_ns"), 0)
    columns = ("wait_ms", "transfer_ms") if name == "collectives" else ("duration_ms",)
    total = sum(np.nan_to_num(floats(table, column)) for column in columns)
    return np.rint(total * 1e6).astype(np.int64)
