"""Spans of the steps of parameter server workers, from their closures: no capture covers them.

Each step has a span for its time in the coordinator's queue and, on its worker, spans for input,
pull, compute and push. A step whose workload does not report these phases has one span.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from strategy_profiles.tables.columns import Bools, Floats, Ints, floats, ints
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile

_PARTS = (
    ("input", "input", "waiting for the batch"),
    ("pull", "transfer", "variables from their servers"),
    ("compute", "compute", "until the gradients are ready"),
    ("delay", "delay", "injected by the lab"),
    ("push", "transfer", "gradients to the servers, until they have answered"),
)
_COORDINATOR = "/job:chief/replica:0/task:0/device:CPU:0"


def newest_closures(profile: Profile, max_steps: int) -> pa.Table:
    """Return the closures of the newest `max_steps` steps."""
    rows = profile.table("closures")
    if rows.num_rows <= max_steps:
        return rows
    newest = np.sort(ints(rows, "step"))[-max_steps]
    return rows.filter(pa.array(ints(rows, "step") >= newest))


def served_spans(profile: Profile, max_steps: int, suffix: str) -> pa.Table:
    """Return rows of the table `spans` on the coordinator's clock; each op ends with `suffix`."""
    rows = newest_closures(profile, max_steps)
    start = ints(rows, "start_ns")
    lengths = [floats(rows, f"{part}_ms") for part, _, _ in _PARTS]
    is_told = np.isfinite(np.sum(lengths, axis=0))
    made = []
    at = start.copy()
    for (part, category, name), length_ms in zip(_PARTS, lengths, strict=True):
        length = np.where(is_told, length_ms, 0.0) * 1e6
        texts = f"{part}{suffix}", category, name
        chosen = is_told & (length > 0) if part == "delay" else is_told
        made.append(_spans(profile, rows, chosen, at, length, texts))
        at = at + length.astype(np.int64)
    whole = floats(rows, "wall_ms") * 1e6
    texts = f"step{suffix}", "compute", "the whole step"
    made.append(_spans(profile, rows, ~is_told, start, whole, texts))
    made.append(_queue(rows, f"queue{suffix}"))
    return pa.concat_tables(made).unify_dictionaries()


def _spans(
    profile: Profile,
    rows: pa.Table,
    chosen: Bools,
    start: Ints,
    length_ns: Floats,
    texts: tuple[str, str, str],
) -> pa.Table:
    own = rows.filter(pa.array(chosen))
    layout = {segment.segment: segment.replica_devices for segment in profile.segments}
    pairs = zip(ints(own, "segment").tolist(), ints(own, "worker").tolist(), strict=True)
    devices = [_device(layout.get(segment, []), worker) for segment, worker in pairs]
    return _table(
        own,
        worker=own["worker"],
        replica=pa.array(ints(own, "worker") - 1),
        device=devices,
        start_ns=start[chosen],
        duration_ns=length_ns[chosen].astype(np.int64),
        texts=texts,
    )


def _queue(rows: pa.Table, op: str) -> pa.Table:
    own = rows.filter(pa.array(np.isfinite(floats(rows, "queue_ms"))))
    count = own.num_rows
    return _table(
        own,
        worker=pa.array([0] * count),
        replica=pa.nulls(count, pa.int32()),
        device=[_COORDINATOR] * count,
        start_ns=ints(own, "scheduled_ns"),
        duration_ns=(floats(own, "queue_ms") * 1e6).astype(np.int64),
        texts=(op, "wait", "scheduled, begun by no worker yet"),
    )


def _table(
    rows: pa.Table,
    *,
    worker: pa.Array,
    replica: pa.Array,
    device: list[str | None],
    start_ns: Ints,
    duration_ns: Ints,
    texts: tuple[str, str, str],
) -> pa.Table:
    op, category, name = texts
    count = rows.num_rows
    columns = {
        "segment": rows["segment"],
        "step": rows["step"],
        "worker": worker,
        "device": pa.array(device, pa.string()),
        "replica": replica,
        "name": pa.array([name] * count, pa.string()),
        "op": pa.array([op] * count, pa.string()),
        "category": pa.array([category] * count, pa.string()),
        "start_ns": pa.array(start_ns),
        "duration_ns": pa.array(duration_ns),
        "clock": pa.array(["host"] * count, pa.string()),
        "thread": pa.nulls(count, pa.int64()),
    }
    schema = TABLES["spans"]
    return pa.table([columns[name] for name in schema.names], schema.names).cast(schema)


def _device(devices: list[str], worker: int) -> str | None:
    return devices[worker - 1] if 0 < worker <= len(devices) else None
