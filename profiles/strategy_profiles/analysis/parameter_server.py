"""Parameter servers: steps of each worker, the queue, where variables are, and bytes moved.

Workers do not wait for each other, so the question is not who holds the others up, but how much
each one contributes, and what its steps spend on variables that live elsewhere.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from msgspec import Struct

from strategy_profiles.analysis.steps import typical_steps
from strategy_profiles.run.events import SegmentOpened, VariablesServed
from strategy_profiles.run.process_history import read_processes
from strategy_profiles.run.topology import has_servers
from strategy_profiles.tables.columns import (
    Floats,
    Ints,
    floats,
    ints,
    of_segment,
    texts,
)
from strategy_profiles.tables.served_tables import SERVED_PARTS
from strategy_profiles.tables.store import Profile

NO_STEP = "No step of this segment is done yet"
NO_PARTS = "The parts of the workers' steps are recorded in runs of the Lab alone"
NUM_MOMENTS = 400


class ServedWorker(Struct, frozen=True):
    """A worker of parameter servers. Times are means of its typical steps, in ms; None where its
    workload's own step does not tell them apart, or where clocks cannot be compared."""

    worker: int
    num_steps: int
    wall_ms: float | None
    phases_ms: dict[str, float | None]
    queue_ms: float | None
    """From being scheduled to being begun."""
    return_ms: float | None
    """From the push's end to the result at the coordinator."""
    steps_per_second: float | None
    """Over the time from its first start to its last result."""
    busy_share: float | None
    """Share of that time in which it worked on a step."""


class ParameterServer(Struct, frozen=True):
    """A server: what it holds, and what one step of one worker moves from and to it (derived)."""

    process: int
    device: str
    num_weights: int
    weight_bytes: int
    optimizer_bytes: int
    pull_bytes: int | None
    push_bytes: int | None


class Served(Struct, frozen=True):
    """A variable, or a shard of one, on one process."""

    name: str
    role: str
    process: int
    shape: str
    bytes: int
    part: int | None
    num_parts: int | None
    pull_bytes: int | None
    push_bytes: int | None

    @property
    def which_part(self) -> str | None:
        """`1 of 2`; None if it was not recorded."""
        if self.part is None or self.num_parts is None:
            return None
        return f"{self.part + 1} of {self.num_parts}"


class Moments(Struct, frozen=True):
    """Counts over time: seconds since the first closure was scheduled."""

    at_s: Floats
    queued: Ints
    """Closures that are scheduled and not begun by a worker yet."""
    in_flight: Ints
    """Closures that a worker has begun and not pushed yet."""


class Absence(Struct, frozen=True):
    """A worker that was lost while the others went on; seconds as in `Moments`."""

    worker: int
    message: str
    lost_s: float | None
    back_s: float | None
    """When the process that replaced it began its first step; None if none did."""


class ParameterServing(Struct, frozen=True):
    """The answer for a segment; `reason` says why it is unknown."""

    workers: tuple[ServedWorker, ...] = ()
    servers: tuple[ParameterServer, ...] = ()
    variables: tuple[Served, ...] = ()
    moments: Moments | None = None
    moments_reason: str | None = None
    finished_s: dict[int, Floats] | None = None
    """When each worker's results arrived, in s."""
    absences: tuple[Absence, ...] = ()
    feed: str = "worker"
    reason: str | None = None

    @property
    def num_steps(self) -> int:
        return sum(worker.num_steps for worker in self.workers)


def parameter_serving(profile: Profile, segment: SegmentOpened) -> ParameterServing:
    """Return what each worker did and where variables are in a segment with parameter servers."""
    if not has_servers(segment):
        reason = f"{segment.strategy} has no parameter servers"
        return ParameterServing(reason=profile.unknown.get("servers", reason))
    rows = of_segment(profile.table("closures"), segment.segment)
    held = of_segment(profile.table("served"), segment.segment)
    if not rows.num_rows:
        return ParameterServing(reason=NO_STEP if segment.is_of_lab else NO_PARTS)
    origin = int(ints(rows, "scheduled_ns").min())
    numbers = np.unique(ints(rows, "worker")).tolist()
    every = sorted({*range(1, segment.num_workers + 1), *numbers})
    moments = _moments(rows, origin)
    finished = ints(rows, "finished_ns")
    return ParameterServing(
        workers=tuple(_worker(rows, number) for number in every),
        servers=_servers(profile, segment.segment, held),
        variables=_variables(held),
        moments=moments,
        moments_reason=None if moments else "the workers' clocks cannot be compared",
        finished_s={
            number: np.sort(finished[ints(rows, "worker") == number] - origin) / 1e9
            for number in every
        },
        absences=_absences(profile, rows, origin),
        feed=_feed(profile, segment.segment),
    )


def _worker(rows: pa.Table, number: int) -> ServedWorker:
    own = rows.filter(pa.array(ints(rows, "worker") == number))
    if not own.num_rows:
        return ServedWorker(number, 0, None, dict.fromkeys(SERVED_PARTS), None, None, None, None)
    order = np.argsort(ints(own, "start_ns"), kind="stable")
    step, wall = ints(own, "step")[order], floats(own, "wall_ms")[order]
    first = 1 if len(step) > 1 else 0  # its first step prepares the data and the functions
    counts = np.isin(step, typical_steps(step[first:], wall[first:]))

    def typical(name: str) -> float | None:
        values = floats(own, name)[order][counts]
        return float(values.mean()) if values.size and np.isfinite(values).all() else None

    span_ns = int(ints(own, "finished_ns").max() - ints(own, "start_ns").min())
    return ServedWorker(
        worker=number,
        num_steps=own.num_rows,
        wall_ms=typical("wall_ms"),
        phases_ms={name: typical(f"{name}_ms") for name in SERVED_PARTS},
        queue_ms=typical("queue_ms"),
        return_ms=typical("return_ms"),
        steps_per_second=own.num_rows / span_ns * 1e9 if span_ns > 0 else None,
        busy_share=float(wall.sum()) * 1e6 / span_ns if span_ns > 0 else None,
    )


def _servers(profile: Profile, segment: int, held: pa.Table) -> tuple[ParameterServer, ...]:
    process, size = ints(held, "process"), ints(held, "bytes")
    role = np.array(texts(held, "role"), dtype=object)
    pulls, pushes = floats(held, "pull_bytes"), floats(held, "push_bytes")
    servers = []
    for number, device in _server_processes(profile, segment):
        own = process == number
        servers.append(
            ParameterServer(
                process=number,
                device=device,
                num_weights=int((own & (role == "weight")).sum()),
                weight_bytes=int(size[own & (role != "optimizer")].sum()),
                optimizer_bytes=int(size[own & (role == "optimizer")].sum()),
                pull_bytes=_known_sum(pulls[own]),
                push_bytes=_known_sum(pushes[own]),
            )
        )
    return tuple(servers)


def _server_processes(profile: Profile, segment: int) -> list[tuple[int, str]]:
    """Process number and device of each server, also of one that holds nothing."""
    for event in profile.events(VariablesServed):
        if event.segment == segment:
            return [(server.process, server.device) for server in event.servers]
    return []


def _variables(held: pa.Table) -> tuple[Served, ...]:
    names = list(Served.__struct_fields__)
    return tuple(Served(**row) for row in held.select(names).to_pylist())


def _known_sum(values: Floats) -> int | None:
    """A sum; None where a part of it is not known."""
    return int(values.sum()) if np.isfinite(values).all() else None


def _moments(rows: pa.Table, origin: int) -> Moments | None:
    """How many closures waited and how many were being done, over time."""
    if not np.isfinite(floats(rows, "queue_ms")).all():
        return None
    scheduled, started = np.sort(ints(rows, "scheduled_ns")), ints(rows, "start_ns")
    pushed = np.sort(started + (floats(rows, "wall_ms") * 1e6).astype(np.int64))
    started = np.sort(started)
    every = np.unique(np.concatenate([scheduled, started, pushed]))
    at = every[np.linspace(0, len(every) - 1, min(NUM_MOMENTS, len(every))).astype(np.int64)]
    num_scheduled, num_started, num_pushed = (
        np.searchsorted(times, at, side="right") for times in (scheduled, started, pushed)
    )
    return Moments(
        (at - origin) / 1e9,
        np.maximum(num_scheduled - num_started, 0),
        np.maximum(num_started - num_pushed, 0),
    )


def _absences(profile: Profile, rows: pa.Table, origin: int) -> tuple[Absence, ...]:
    """Workers whose process ended early and was started again, from the launcher's events."""
    last, known = int(ints(rows, "finished_ns").max()), set(ints(rows, "worker").tolist())
    absences = []
    for lost, again in read_processes(profile.sources).restarts():
        lost_ns = lost.lost_ns or lost.exited_ns
        if lost_ns is None or lost.worker not in known or not origin <= lost_ns <= last:
            continue
        later = ints(rows, "start_ns")[ints(rows, "worker") == lost.worker]
        later = later[later > (again.launched_ns or 0)]
        back_s = (int(later.min()) - origin) / 1e9 if later.size else None
        message = lost.message or "It ended."
        absences.append(Absence(lost.worker, message, (lost_ns - origin) / 1e9, back_s))
    return tuple(absences)


def _feed(profile: Profile, segment: int) -> str:
    feeds = [event.feed for event in profile.events(VariablesServed) if event.segment == segment]
    return "coordinator" if "coordinator" in feeds else "worker"
