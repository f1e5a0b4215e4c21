"""Breaks a replica's step down into phases, which add up to its wall time.

From full captures where the segment has any, else from the light marks of every step. Means over
the middle half of those steps by wall time: one hiccup moves them little, and they add up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, Protocol

import numpy as np
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.no_capture import LOST, capture_problems
from strategy_profiles.analysis.steps import StepTimes, step_times, typical_steps
from strategy_profiles.run.events import NO_OPS_IN, WHY_NO_OPS, Note, SegmentOpened
from strategy_profiles.run.topology import has_servers, worker_of
from strategy_profiles.tables.arrivals import by_replica
from strategy_profiles.tables.columns import (
    Floats,
    distinct,
    floats,
    ints,
    mean,
    of_segment,
)
from strategy_profiles.tables.mark_phases import fill_step
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.served_tables import SERVED_PARTS
from strategy_profiles.tables.store import Profile, once

NO_DATA = "the segment has neither a capture window nor per-replica timestamps"
UNDIVIDED = "steps"
"""`ReplicaBreakdown.source` where only the steps' length and the wait for the batch are known."""
NOT_CAPTURED = "TensorFlow's profiler runs in the first worker alone"
NO_OPS = "its captures hold no op of a replica's graph"
NO_PARTS = "no worker of the parameter servers did three steps with recorded parts"


class ReplicaBreakdown(Struct, frozen=True):
    """Mean milliseconds of each phase of a replica's step; None if not recorded."""

    replica: int
    worker: int
    device: str | None
    num_steps: int
    """Steps in the means."""
    wall_ms: float | None
    compute_ms: float | None
    delay_ms: float | None
    wait_ms: float | None
    transfer_ms: float | None
    input_ms: float | None
    idle_ms: float | None
    source: str | None = None
    """`measured` by a capture, `derived` if its steps are, or `marks`: in a cluster only the leader
    is captured. `steps` if only its steps' length and their wait for the batch are known."""

    def phase_ms(self, category: str) -> float | None:
        """The phase named as in `schema.CATEGORIES`."""
        value: float | None = getattr(self, f"{category}_ms")
        return value


class StepBreakdown(Struct, frozen=True):
    """Every replica's breakdown in a segment."""

    segment: int
    replicas: tuple[ReplicaBreakdown, ...]
    source: Literal["measured", "marks"] | None
    """`measured` where any replica was captured; each replica names its own."""
    reason: str | None
    """Why it, or a part of it, is not known."""
    is_in_sync: bool = True
    """Whether all replicas do a step together; else each does steps of its own."""

    @property
    def from_marks(self) -> tuple[int, ...]:
        """Replicas whose times come from marks beside the captures of others."""
        if self.source != "measured":
            return ()
        return tuple(item.replica for item in self.replicas if item.source == "marks")

    @property
    def undivided(self) -> tuple[int, ...]:
        """Replicas of which only the steps' length and the wait for the batch are known."""
        return tuple(item.replica for item in self.replicas if item.source == UNDIVIDED)

    @property
    def has_derived_steps(self) -> bool:
        """Whether nothing recorded where a step begins: an import has found it out."""
        return any(item.source == "derived" for item in self.replicas)

    def mean_ms(self, category: str) -> float | None:
        """A phase (or `wall`) over all replicas whose steps are divided, so that phases add up."""
        divided = [item for item in self.replicas if item.source != UNDIVIDED]
        known = [value for r in divided if (value := r.phase_ms(category)) is not None]
        return sum(known) / len(known) if known else None


class Split(Protocol):
    """A replica or a core with its phases."""

    def phase_ms(self, category: str) -> float | None:
        """The phase named as in `schema.CATEGORIES`."""


def shown_phases(rows: Iterable[Split]) -> tuple[str, ...]:
    """The phases to show of these rows: the injected delay only if the lab injected any."""
    has_delay = any(row.phase_ms("delay") for row in rows)
    return tuple(phase for phase in CATEGORIES if phase != "delay" or has_delay)


@once
def step_breakdown(profile: Profile, segment: SegmentOpened) -> StepBreakdown:
    """The breakdown of a segment, its tracing step left out."""
    if has_servers(segment):
        return _of_served(profile, segment)
    steps = step_times(profile, segment.segment)
    captured = without_warm_up(
        of_segment(profile.table("replica_steps"), segment.segment), segment, steps
    )
    reason = why_waits_unknown(profile, segment)
    problems = capture_problems(profile, segment.segment)
    if captured.num_rows:
        replicas = captured_breakdown(captured)
        if reason is not None:
            replicas = tuple(replace(item, wait_ms=None, transfer_ms=None) for item in replicas)
        replicas += tuple(_of_others(profile, segment, {item.replica for item in replicas}))
        return StepBreakdown(segment.segment, replicas, "measured", reason)
    marks = without_warm_up(of_segment(profile.table("marks"), segment.segment), segment, steps)
    marks = marks.filter(pa.array(~np.isin(ints(marks, "step"), steps.step[~steps.timed])))
    if marks.num_rows:
        why = reason or next(iter(problems), None)
        return StepBreakdown(segment.segment, _from_marks(marks, steps), "marks", why)
    if profile.is_lost("replica_steps"):
        return StepBreakdown(segment.segment, _unknown(segment), None, LOST)
    is_captured = bool(steps.captured.any())
    if problems:
        return StepBreakdown(segment.segment, _unknown(segment), None, problems[0])
    reason = profile.unknown.get("replicas", _no_ops(profile, segment) if is_captured else NO_DATA)
    return StepBreakdown(segment.segment, _unknown(segment), None, reason)


def _no_ops(profile: Profile, segment: SegmentOpened) -> str:
    """Why the captures hold no op of a replica, as far as the recorder has noted it."""
    for note in profile.events(Note):
        why = note.fields.get(WHY_NO_OPS)
        if isinstance(why, str) and note.fields.get(NO_OPS_IN) == segment.segment:
            return f"{NO_OPS}, because {why}"
    return NO_OPS


def why_waits_unknown(profile: Profile, segment: SegmentOpened) -> str | None:
    """Why waits between workers are unknown; None if the records of all workers exist."""
    absent = profile.absent_workers(segment)
    if not absent:
        return None
    names = ", ".join(map(str, absent))
    return f"replicas wait for those of all workers, and the records of worker {names} are missing"


def _of_others(
    profile: Profile, segment: SegmentOpened, captured: Collection[int]
) -> Iterator[ReplicaBreakdown]:
    """Replicas of workers that were not captured, where the program has no timestamps either."""
    for replica, arrivals in by_replica(segment, profile.arrivals).items():
        rows = arrivals.rows
        if replica not in captured:
            yield ReplicaBreakdown(
                replica=replica,
                worker=int(rows.worker[0]),
                device=segment.replica_devices[replica],
                num_steps=len(rows),
                wall_ms=float(np.median(rows.wall_ns)) / 1e6,
                compute_ms=None,
                delay_ms=None,
                wait_ms=None,
                transfer_ms=None,
                # A batch that the step's function takes itself has no time here, not even 0.
                input_ms=float(np.median(rows.input_ns)) / 1e6 if rows.input_ns.any() else None,
                idle_ms=None,
                source=UNDIVIDED,
            )


def _of_served(profile: Profile, segment: SegmentOpened) -> StepBreakdown:
    """Workers of parameter servers have only closures, each of one worker."""
    rows = of_segment(profile.table("closures"), segment.segment)
    workers = distinct(ints(rows, "worker"))[0].tolist()
    known = (_of_server_worker(rows, number, segment.replica_devices) for number in workers)
    replicas = tuple(item for item in known if item is not None)
    if not replicas:
        return StepBreakdown(segment.segment, _unknown(segment), None, NO_PARTS, is_in_sync=False)
    return StepBreakdown(segment.segment, replicas, "marks", None, is_in_sync=False)


def _of_server_worker(
    rows: pa.Table, number: int, devices: Sequence[str]
) -> ReplicaBreakdown | None:
    """Where a step of a worker of parameter servers goes: from one start to its next.

    Pull and push are transfer. Workers do not wait for each other, so there is no wait; the rest
    until the worker begins its next step (results on their way, the coordinator's turn) is idle.
    """
    own = rows.filter(pa.array(ints(rows, "worker") == number))
    own = own.take(pa.array(np.argsort(ints(own, "start_ns"), kind="stable")))
    cycle = np.diff(ints(own, "start_ns")) / 1e6
    # A step counts where the next one begins: the first one prepares, the last has no next.
    parts = {name: floats(own, f"{name}_ms")[1:-1] for name in SERVED_PARTS}
    cycle = cycle[1:]
    if not cycle.size or not all(np.isfinite(values).all() for values in parts.values()):
        return None
    step = ints(own, "step")[1:-1]
    typical = np.isin(step, typical_steps(step, cycle))
    mean_ms = {name: float(values[typical].mean()) for name, values in parts.items()}
    wall = float(cycle[typical].mean())
    return ReplicaBreakdown(
        replica=number - 1,
        worker=number,
        device=devices[number - 1] if 0 < number <= len(devices) else None,
        num_steps=int(typical.sum()),
        wall_ms=max(wall, sum(mean_ms.values())),
        compute_ms=mean_ms["compute"],
        delay_ms=mean_ms["delay"],
        wait_ms=0.0,
        transfer_ms=mean_ms["pull"] + mean_ms["push"],
        input_ms=mean_ms["input"],
        idle_ms=max(wall - sum(mean_ms.values()), 0.0),
        source="marks",
    )


def without_warm_up(rows: pa.Table, segment: SegmentOpened, steps: StepTimes) -> pa.Table:
    """The rows of steps that count: those that trace are left out."""
    step = ints(rows, "step")
    counts = (step >= segment.first_step) & ~np.isin(step, steps.step[~steps.typical])
    return rows.filter(pa.array(counts))


def captured_breakdown(rows: pa.Table) -> tuple[ReplicaBreakdown, ...]:
    """The breakdown in rows of `replica_steps`, or in those of one core in `core_steps`."""
    values = {name: floats(rows, f"{name}_ms") for name in ("wall", *CATEGORIES)}
    return _by_replica(rows, values)


def _from_marks(rows: pa.Table, steps: StepTimes) -> tuple[ReplicaBreakdown, ...]:
    """Phases come from marks, input and wall time from the step, the delay from the spec."""
    index = np.searchsorted(steps.step, ints(rows, "step")).clip(max=max(steps.count - 1, 0))
    if not steps.count:
        return ()
    # A phase of a step whose length is unknown is unknown too: else the means would not add up.
    wall = np.where(steps.step[index] == ints(rows, "step"), steps.wall_ms[index], np.nan)
    waited = np.nan_to_num(steps.input_ms[index])
    names = ("compute_ms", "delay_ms", "wait_ms", "reduce_ms")
    compute, delay, wait, reduce = (floats(rows, name) for name in names)
    between = compute, delay, wait, reduce
    phases = fill_step(wall, waited, between, np.minimum, np.maximum)
    return _by_replica(rows, {**dict(zip(CATEGORIES, phases, strict=True)), "wall": wall})


def _by_replica(rows: pa.Table, values: dict[str, Floats]) -> tuple[ReplicaBreakdown, ...]:
    """Means per replica of columns as long as `rows`, over the typical steps."""
    typical = np.isin(ints(rows, "step"), typical_steps(ints(rows, "step"), values["wall"]))
    rows = rows.filter(pa.array(typical))
    values = {name: column[typical] for name, column in values.items()}
    replicas, workers = ints(rows, "replica"), ints(rows, "worker")
    is_told = "source" in rows.column_names
    breakdowns = []
    for replica in distinct(replicas)[0]:
        chosen = replicas == replica
        first = int(np.argmax(chosen))
        breakdowns.append(
            ReplicaBreakdown(
                replica=int(replica),
                worker=int(workers[first]),
                device=rows["device"][first].as_py(),
                num_steps=int(chosen.sum()),
                **{f"{name}_ms": mean(column[chosen]) for name, column in values.items()},
                source=rows["source"][first].as_py() if is_told else "marks",
            )
        )
    return tuple(breakdowns)


def _unknown(segment: SegmentOpened) -> tuple[ReplicaBreakdown, ...]:
    """The replicas that are known to be there, with nothing known about their time."""
    return tuple(
        ReplicaBreakdown(replica, worker_of(segment, replica), device, 0, *[None] * 7)
        for replica, device in enumerate(segment.replica_devices)
    )
