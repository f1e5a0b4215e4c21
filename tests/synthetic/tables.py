"""The Parquet tables of a synthetic run, from the phases of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from strategy_profiles.capture.exposed import exposed_columns
from strategy_profiles.run.injected_delay import OP
from strategy_profiles.tables.schema import TABLES, WINDOW_TABLES
from tests.synthetic.recipe import core_devices

_OPS = ("Conv2D", "BiasAdd", "Relu", "MaxPool", "MatMul", "FusedBatchNormV3", "Conv2DBackpropInput")
_VARIABLES = (("conv2d/kernel", 0.05), ("dense/kernel", 0.9), ("dense/bias", 0.05))


@dataclass(frozen=True)
class Segment:
    """What the tables of one segment and worker are made from; phases are `[steps, replicas]`."""

    segment: int
    worker: int
    first_step: int
    starts_ns: np.ndarray
    phases: dict[str, np.ndarray]
    devices: list[str]
    local: range
    recipe: Any


STAGE: dict[str, Any] = {
    "name": "Iterator::Root::Prefetch",
    "dataset": "PrefetchDataset:2",
    "count": 1,
    "total_ms": 0.01,
    "self_ms": 0.01,
    "buffer_size": 2,
    "buffered": 1.5,
    "autotuned": True,
}
"""The only stage of the input."""


def write_window(path: Path, made: Segment, start: int) -> dict[str, int]:
    """Write the window tables for the window at `start`; the number of rows of each."""
    path.mkdir(parents=True)
    steps = range(start, start + made.recipe.window_steps)
    rows = {
        "replica_steps": [_replica_step(made, i, r) for i in steps for r in made.local],
        "core_steps": [row for i in steps for r in made.local for row in _core_steps(made, i, r)],
        "collectives": [row for i in steps for r in made.local for row in _collectives(made, i, r)],
        "transfers": [row for i in steps for row in _transfers(made, i)],
        "spans": [row for i in steps for r in made.local for row in _spans(made, i, r)],
        "causes": [{**_key(made, i, None), **row} for i in steps for row in made.recipe.causes],
        "input_stages": [{**_key(made, i, None), **STAGE} for i in steps],
        "tensors": [row for r in made.local for row in _tensors(made, steps[-1], r)],
    }
    captured = rows["replica_steps"]
    numbers = (np.array([row[name] for row in captured], np.int64) for name in ("step", "replica"))
    spans = _table("spans", rows["spans"])
    for name, lengths in exposed_columns(spans, *numbers).items():
        for row, length in zip(captured, lengths.tolist(), strict=True):
            row[name] = length
    for name in WINDOW_TABLES:
        if name not in made.recipe.missing:
            table = spans if name == "spans" else _table(name, rows[name])
            _write(path / f"{name}.parquet", table)
    return {name: len(rows_of_table) for name, rows_of_table in rows.items()}


def write_placement(path: Path, made: Segment) -> int:
    """Write the placement of a segment; the number of rows."""
    prefix, total = made.recipe.prefix, sum(made.recipe.collective_bytes)
    rows: list[dict[str, Any]] = []
    for replica in made.local:
        key: dict[str, Any] = {"segment": made.segment, "worker": made.worker}
        common = {**key, "replica": replica, "device": made.devices[replica]}
        for index in range(made.recipe.ops_per_step):
            op = _OPS[index % len(_OPS)]
            name = f"{prefix}train_step/replica_{replica}/{op}_{index}"
            function = "__inference_train_step_1"
            rows.append({**common, "kind": "op", "name": name, "op": op, "function": function})
        if replica and made.recipe.strategy == "central-storage":
            continue  # the first device holds the only copy of the variables
        for name, share in _VARIABLES:
            size = int(total * share)
            op = "MirroredVariable" if len(made.devices) > 1 else "Variable"
            rows.append(
                {**common, "kind": "variable", "name": prefix + name, "op": op, "bytes": size}
            )
    _write(path, _table("placement", rows))
    return len(rows)


def write_contexts(path: Path, made: Segment) -> None:
    """A lesson's worth of contexts: cross-replica, one replica context each, update."""
    rows: list[dict[str, Any]] = [
        {"context": "cross-replica", "call": "strategy.run", "depth": 0, "parent": None}
    ]
    rows += [
        {"context": "replica", "replica": r, "call": "train_step", "depth": 1, "parent": 0}
        for r in made.local
    ]
    rows.append({"context": "update", "call": "extended.update", "depth": 1, "parent": 0})
    for seq, row in enumerate(rows):
        row.update(seq=seq, thread="MainThread", file="step.py", line=10 + seq)
    _write(path, _table("contexts", rows))


def _replica_step(made: Segment, index: int, replica: int) -> dict[str, Any]:
    part = {f"{name}_ms": float(values[index, replica]) for name, values in made.phases.items()}
    return {
        **_key(made, index, replica),
        **part,
        "start_ns": int(made.starts_ns[index]),
        "clock": f"host-{made.worker}",
        "source": "measured",
    }


def _core_steps(made: Segment, index: int, replica: int) -> list[dict[str, Any]]:
    cores = core_devices(made.recipe)
    rows = []
    for core, device in enumerate(cores[replica] if cores else []):
        row = {**_replica_step(made, index, replica), "core": core, "device": device}
        spared = row["compute_ms"] * core / (core + 1)
        row.update(
            compute_ms=row["compute_ms"] - spared,
            idle_ms=row["idle_ms"] + spared,
        )
        rows.append(row)
    return rows


def _collectives(made: Segment, index: int, replica: int) -> list[dict[str, Any]]:
    size = len(made.devices)
    if size == 1:
        return []
    begin = made.starts_ns[index] + _ns(made, index, replica, "input", "compute", "delay")
    wait_ms = float(made.phases["wait"][index, replica])
    total = sum(made.recipe.collective_bytes)
    rows = []
    for number, num_bytes in enumerate(made.recipe.collective_bytes):
        transfer_ms = float(made.phases["transfer"][index, replica]) * num_bytes / total
        algbw = num_bytes / (transfer_ms * 1e-3) / 1e9
        rows.append(
            {
                **_key(made, index, replica),
                "op": "all-reduce",
                "name": f"{made.recipe.prefix}train_step/CollectiveReduceV2_{number}",
                "instance": number + 1,
                "group_size": size,
                "bytes": num_bytes,
                "start_ns": int(begin),
                "wait_ms": wait_ms,
                "transfer_ms": transfer_ms,
                "algbw_gbps": algbw,
                "busbw_gbps": algbw * 2 * (size - 1) / size,
                "source": "measured",
                "bytes_source": "derived",
            }
        )
        begin += int((wait_ms + transfer_ms) * 1e6)
        wait_ms = 0.0
    return rows


def _transfers(made: Segment, index: int) -> list[dict[str, Any]]:
    """Central storage fetches every variable from the host; the others return a loss."""
    central = made.recipe.strategy == "central-storage"
    host = "/job:localhost/replica:0/task:0/device:CPU:0"
    rows = []
    for replica in made.local:
        device = made.devices[replica]
        if device == host:
            continue
        rows.append(
            {
                **_key(made, index, None),
                "tensor": f"{made.recipe.prefix}dense/kernel/Read" if central else "loss",
                "bytes": sum(made.recipe.collective_bytes) if central else 4,
                "send_device": host if central else device,
                "recv_device": device if central else host,
                "start_ns": int(made.starts_ns[index] + _ns(made, index, replica, "input")),
                "duration_ms": 0.2,
                "source": "measured",
                "bytes_source": "derived",
            }
        )
    return rows


def _spans(made: Segment, index: int, replica: int) -> list[dict[str, Any]]:
    common = {
        **_key(made, index, replica),
        "clock": f"host-{made.worker}",
        "thread": 100 + replica,
    }
    scope = f"{made.recipe.prefix}train_step/replica_{replica}"

    def span(
        op: str, category: str, start_ns: int, duration_ns: int, name: str | None = None
    ) -> dict[str, Any]:
        own = {"name": name or f"{scope}/{op}_0", "op": op, "category": category}
        return {**common, **own, "start_ns": start_ns, "duration_ns": duration_ns}

    begin = int(made.starts_ns[index])
    num_ops = made.recipe.ops_per_step
    input_ns = _ns(made, index, replica, "input")
    compute_ns = _ns(made, index, replica, "compute")
    rows = [span("IteratorGetNext", "input", begin, input_ns)]
    edges = np.linspace(0, compute_ns, num_ops + 1).astype(np.int64) + begin + input_ns
    times = edges.tolist()
    for number, (start, end) in enumerate(pairwise(times)):
        op = _OPS[number % len(_OPS)]
        rows.append(span(op, "compute", start, end - start, f"{scope}/{op}_{number}"))
    if delay_ns := _ns(made, index, replica, "delay"):
        rows.append(span("PyFunc", "delay", times[-1], delay_ns, f"replica_{replica}/{OP}"))
    for row in _collectives(made, index, replica):
        length = int((row["wait_ms"] + row["transfer_ms"]) * 1e6)
        rows.append(span("CollectiveReduceV2", "collective", row["start_ns"], length, row["name"]))
    return rows


def _tensors(made: Segment, index: int, replica: int) -> list[dict[str, Any]]:
    """Each op's output is held until the next op ends; op i returns i + 1 kB."""
    ops = [row for row in _spans(made, index, replica) if row["category"] == "compute"]
    ends = [row["start_ns"] + row["duration_ns"] for row in ops]
    return [
        {
            **_key(made, index, None),
            "device": made.devices[replica],
            "name": row["name"],
            "op": row["op"],
            "bytes": 1000 * (number + 1),
            "start_ns": row["start_ns"],
            "end_ns": ends[min(number + 1, len(ends) - 1)],
            "source": "derived",
        }
        for number, row in enumerate(ops)
    ]


def _key(made: Segment, index: int, replica: int | None) -> dict[str, Any]:
    key: dict[str, Any] = {
        "segment": made.segment,
        "step": made.first_step + index,
        "worker": made.worker,
    }
    if replica is not None:
        key.update(replica=replica, device=made.devices[replica])
    return key


def _ns(made: Segment, index: int, replica: int, *phases: str) -> int:
    return int(sum(made.phases[phase][index, replica] for phase in phases) * 1e6)


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=TABLES[name])


def _write(path: Path, table: pa.Table) -> None:
    path.write_bytes(_empty_file(table.schema) if table.num_rows == 0 else _file(table))


@cache
def _empty_file(schema: pa.Schema) -> bytes:
    """Half of the files of a usual run have no rows: each is made once."""
    return _file(schema.empty_table())


def _file(table: pa.Table) -> bytes:
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream, write_page_checksum=True)
    written: bytes = stream.getvalue().to_pybytes()
    return written
