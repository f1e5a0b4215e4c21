"""Parameter servers in a film: pulls and pushes of each worker, with the bytes of each server."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa

from strategy_film.rows import Rows
from strategy_film.scene import Names, SentTensor
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.tables.columns import Bools, ints, is_one_of, of_segment
from strategy_profiles.tables.served_tables import SERVED_PARTS
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.one_clock import MARKED


def server_bytes(profile: Profile, segment: int) -> dict[int, tuple[int, int]]:
    """Return by process of a server the bytes that a step of one worker pulls and pushes."""
    total: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for row in of_segment(profile.table("served"), segment).to_pylist():
        total[row["process"]][0] += row["pull_bytes"] or 0
        total[row["process"]][1] += row["push_bytes"] or 0
    return {process: (pulled, pushed) for process, (pulled, pushed) in sorted(total.items())}


def served_phases(spans: pa.Table, is_own: Bools) -> list[tuple[str, Intervals]]:
    """Return the parts of a worker's steps as phases."""
    start, end = ints(spans, "start_ns"), ints(spans, "end_ns")
    phases = []
    for part in SERVED_PARTS:
        # A step whose workload does not report its parts has one span.
        names = (part, "step") if part == "compute" else (part,)
        chosen = is_own & is_one_of(spans, "op", [f"{name}{MARKED}" for name in names])
        phases.append((part, Intervals.union((start[chosen], end[chosen]))))
    return phases


def served_tensors(
    rows: Rows, servers: dict[int, tuple[int, int]], names: Names
) -> tuple[SentTensor, ...]:
    """Return one sent tensor per server for each pull and push. Servers follow the replicas."""
    node_of = {process: len(rows.own) + number for number, process in enumerate(servers)}
    replicas = {replica: node for node, replica in enumerate(rows.own)}
    tensors: list[SentTensor] = []
    columns = ["replica", "op", "name", "start_ns", "end_ns"]
    for row in rows.spans.select(columns).sort_by("start_ns").to_pylist():
        part = (row["op"] or "").partition(" ")[0]
        if part in ("pull", "push") and row["replica"] in replicas:
            tensors += _of_part(part, row, replicas[row["replica"]], servers, node_of, names)
    return tuple(tensors)


def _of_part(
    part: str,
    row: dict[str, Any],
    worker: int,
    servers: dict[int, tuple[int, int]],
    node_of: dict[int, int],
    names: Names,
) -> list[SentTensor]:
    tensors = []
    for process, (pulled, pushed) in servers.items():
        ends = (node_of[process], worker) if part == "pull" else (worker, node_of[process])
        size = pulled if part == "pull" else pushed
        tensors.append(
            SentTensor(row["start_ns"], row["end_ns"], *ends, size, names.index(row["name"]))
        )
    return tensors
