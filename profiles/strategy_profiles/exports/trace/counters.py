"""Counters: loss, step time and throughput of the run, memory of each device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strategy_profiles.exports.trace.slices import Row
from strategy_profiles.exports.trace.tracks import RUN_PID, TraceEvent


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
