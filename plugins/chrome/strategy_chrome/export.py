"""A trace for Perfetto (ui.perfetto.dev) and chrome://tracing; gzipped if the path ends in .gz.

The first process of the trace is the run: segments, steps, counters. Each replica is a process with
its captured steps, the ops of each of its devices on the lanes of the timeline, its sends and
receives. In a cluster each worker is a process, and all times are on the clock of the first worker.
Arrows lead from each send to its receive, and from the last rank of a collective to the others.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from strategy_chrome import replicas
from strategy_chrome.slices import Row, Slice, in_sequence
from strategy_chrome.tracks import RUN_PID, TraceEvent, Tracks
from strategy_profiles.analysis.clocks import worker_clocks
from strategy_profiles.exports.format import Format
from strategy_profiles.tables.columns import ints
from strategy_profiles.tables.schema import SCHEMA_VERSION
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.layout import lay_out
from strategy_profiles.timeline.one_clock import set_ahead_ns, table_on_one_clock


def step_counters(steps: Sequence[Row], origin_ns: int) -> Iterator[TraceEvent]:
    """Yield loss, step time and throughput at the end of each step; missing values are omitted."""
    for row in steps:
        wall_ms = row["wall_ms"]
        if wall_ms is None:
            continue
        end_ns = row["start_ns"] - origin_ns + round(wall_ms * 1e6)
        yield from _counter("loss", end_ns, "loss", row["loss"])
        yield from _counter("step time (ms)", end_ns, "ms", wall_ms)
        if row["examples"] is not None and wall_ms > 0:
            rate = row["examples"] / wall_ms * 1e3
            yield from _counter("throughput (examples/s)", end_ns, "examples/s", rate)


def memory_counters(
    samples: Sequence[Row], steps: Sequence[Row], origin_ns: int
) -> Iterator[TraceEvent]:
    """Yield the memory of each device, at the start of the step in which it was read."""
    started = {row["step"]: row["start_ns"] - origin_ns for row in steps}
    for row in samples:
        if row["step"] in started:
            name = f"memory of {row['device']}, worker {row['worker']} (bytes)"
            yield from _counter(name, started[row["step"]], "bytes in use", row["bytes_in_use"])


def _counter(name: str, at_ns: int, key: str, value: float | None) -> Iterator[TraceEvent]:
    """Yield one `C` event, or nothing if the value is missing, NaN or infinite."""
    if value is not None and value - value == 0:
        yield {
            "ph": "C",
            "name": name,
            "pid": RUN_PID,
            "tid": 0,
            "ts": at_ns / 1e3,
            "args": {key: value},
        }


_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode
"""Writes non-ASCII text unescaped: Perfetto does not decode escapes in a track's name."""
_SEGMENT_ARGS = ("global_batch_size", "num_workers", "cross_device_ops", "moved")
_STEP_ARGS = ("segment", "wall_ms", "loss", "examples", "captured")


def trace_events(profile: Profile) -> Iterator[TraceEvent]:
    """Yield every event of the trace; times are in microseconds after the start of the run."""
    origin_ns = origin(profile)
    tracks = Tracks(profile)
    steps = table_on_one_clock(profile, "steps").to_pylist()
    yield from _events(_run_slices(profile, steps, tracks, origin_ns))
    yield from _events(replicas.captured_steps(profile, tracks, origin_ns))
    timeline = lay_out(profile)
    rows = replicas.tracks_of_rows(timeline, tracks)
    later_ns = timeline.origin_ns - origin_ns
    yield from _events(replicas.ops(timeline, rows, later_ns))
    flow_numbers = count(1)
    for flow in replicas.collective_flows(timeline, rows, later_ns):
        yield from flow.events(next(flow_numbers))
    for send, receive, flow in replicas.transfers(profile, tracks, origin_ns):
        yield from _events((send, receive))
        yield from flow.events(next(flow_numbers))
    yield from step_counters(steps, origin_ns)
    yield from memory_counters(profile.table("memory").to_pylist(), steps, origin_ns)
    yield from tracks.metadata()


def origin(profile: Profile) -> int:
    """Return the earliest time of the run in ns since the epoch: the origin of the trace.

    Segments and steps need no conversion: the reference worker recorded them.
    """
    columns = [
        _segments(profile)["started_ns"],
        *(
            table_on_one_clock(profile, name)["start_ns"]
            for name in ("steps", "spans", "replica_steps", "transfers")
        ),
    ]
    times = [_least(column) for column in columns]
    return min((time for time in times if time is not None), default=0)


def _segments(profile: Profile) -> pa.Table:
    table = profile.table("segments")
    started_ns = ints(table, "started_ns")
    ahead_ns = set_ahead_ns(profile, ints(table, "first_step"), started_ns)
    known = pa.array(started_ns - ahead_ns, mask=started_ns < 0)
    column = table.schema.get_field_index("started_ns")
    return table.set_column(column, "started_ns", known)


def _least(column: pa.ChunkedArray) -> int | None:
    least: int | None = pc.min(column).as_py()
    return least


def _run_slices(
    profile: Profile, steps: list[Row], tracks: Tracks, origin_ns: int
) -> Iterator[Slice]:
    """Yield the run's segments and steps. A segment ends with the next one or the last step."""
    track = tracks.of_run("segments", 0)
    ends = [row["start_ns"] + round((row["wall_ms"] or 0) * 1e6) for row in steps]
    end_ns = max(ends, default=origin_ns) - origin_ns
    yield from in_sequence(
        Slice(
            track,
            f"segment {row['segment']}: {row['strategy']} ×{row['num_replicas']}",
            "segment",
            row["started_ns"] - origin_ns,
            max(end_ns, row["started_ns"] - origin_ns),
            {name: row[name] for name in _SEGMENT_ARGS},
        )
        for row in _segments(profile).to_pylist()
        if row["started_ns"] is not None
    )
    track = tracks.of_run("steps", 1)
    yield from in_sequence(
        Slice(
            track,
            f"step {row['step']}",
            "step",
            row["start_ns"] - origin_ns,
            step_end_ns - origin_ns,
            {name: row[name] for name in _STEP_ARGS},
        )
        for row, step_end_ns in zip(steps, ends, strict=True)
    )


def _events(slices: Iterable[Slice]) -> Iterator[TraceEvent]:
    return (item.event() for item in slices)


def _write(profile: Profile, path: Path) -> None:
    about = {
        "run": profile.name,
        "status": profile.status.state,
        "schema_version": SCHEMA_VERSION,
        "starts_at_epoch_ns": origin(profile),
        "clocks": {item.title: item.sentence for item in worker_clocks(profile)},
        "notes": list(profile.notes),
    }
    with _opened(path) as file:
        file.write('{"displayTimeUnit":"ms",\n"otherData":')
        file.write(_json(about))
        file.write(',\n"traceEvents":[\n')
        for number, event in enumerate(trace_events(profile)):
            file.write(",\n" if number else "")
            file.write(_json(_finite(event)))
        file.write("\n]}\n")


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "wt", encoding="utf-8", errors="replace", compresslevel=6)
    return path.open("w", encoding="utf-8", errors="replace")


def _finite(event: TraceEvent) -> TraceEvent:
    """Return the event without arguments that JSON cannot represent: NaN and infinities."""
    args = event.get("args")
    if not args or all(not isinstance(v, float) or math.isfinite(v) for v in args.values()):
        return event
    kept = {k: v for k, v in args.items() if not isinstance(v, float) or math.isfinite(v)}
    return {**event, "args": kept}


FORMAT = Format(
    name="chrome-trace",
    title="Chrome trace (Perfetto)",
    description="Ops, sends and collectives on one track per replica, for ui.perfetto.dev.",
    suffix=".trace.json.gz",
    media_type="application/gzip",
    write=_write,
)
