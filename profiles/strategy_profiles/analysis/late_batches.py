"""Which worker has its batch late, in programs without timestamps in their graph.

Each worker records how long it waited for its batch. Where workers agree on each batch, all wait
until the last one has it: samples of the stack tell which of them waits for its own data.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from msgspec import Struct

from strategy_profiles.run.event_parts import StackFrame
from strategy_profiles.run.stacks import Stacks
from strategy_profiles.tables.store import Profile

FEWEST_SAMPLES = 10
_WAITS = ("input", "agreement")
_MAKES = ("python", "op", "host-read")
"""What the program's own Python does before a step whose batch no dataset makes."""


class BatchLine(Struct, frozen=True):
    """Where a worker is before it has the batch of a step."""

    line: StackFrame
    waits: bool
    """Whether it waits for a dataset there; else its own Python runs."""


def late_batches(profile: Profile, segment: int) -> pa.Table:
    """The wait for the last worker's batch, by step and replica; no row if there are timestamps.

    `input_ms` is the wait for the worker's own data; where workers differ by what they compute, the
    time of a step in which it does not wait for the others.
    """
    if not len(profile.arrivals.of_segment(segment).rows):
        return pa.table({name: [] for name in _COLUMNS})
    agreeing = {worker: _agreeing(profile.stacks(worker)) for worker in profile.workers}
    arrivals = profile.arrivals_with(agreeing).of_segment(segment)
    rows = arrivals.rows
    values = (rows.step, rows.worker, rows.replica, arrivals.late_ms)
    own_ms = (
        rows.wall_ns / 1e6 - arrivals.late_ms if segment in arrivals.cores else rows.input_ns / 1e6
    )
    lengths = (own_ms, rows.wall_ns / 1e6)
    return pa.table(dict(zip(_COLUMNS, (*values, *lengths), strict=True)))


_COLUMNS = ("step", "worker", "replica", "wait_ms", "input_ms", "wall_ms")


def batch_line(profile: Profile, worker: int) -> BatchLine | None:
    """The line of the program at which a worker waits for its batches or, without a dataset, runs
    Python most often; None if none was sampled."""
    stacks = profile.stacks(worker)
    is_waiting = any(place.doing in _WAITS for place in stacks.places)
    waits = _WAITS if is_waiting else _MAKES
    counts = Counter(
        {
            number: count
            for number, count in enumerate(np.bincount(stacks.place).tolist())
            if stacks.places[number].doing in waits and stacks.places[number].frames
        }
    )
    if not counts:
        return None
    return BatchLine(stacks.places[counts.most_common(1)[0][0]].frames[-1], is_waiting)


def _agreeing(stacks: Stacks) -> float:
    """Of the samples that wait for a batch, the share in which the worker has its own."""
    doing = [stacks.places[number].doing for number in stacks.place.tolist()]
    num_agreeing, num_waiting = doing.count("agreement"), sum(doing.count(w) for w in _WAITS)
    return num_agreeing / num_waiting if num_waiting >= FEWEST_SAMPLES else 0.0
