"""Convert a capture to the tables of its window (`schema.WINDOW_TABLES`)."""

from __future__ import annotations

import shutil
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from strategy_profiles.capture import collectives, xspace
from strategy_profiles.capture.attribution import Attribution, attribute
from strategy_profiles.capture.causes import cause_table
from strategy_profiles.capture.graph import Graph, read_graph
from strategy_profiles.capture.input_stages import input_stage_table
from strategy_profiles.capture.joined import Joined, join
from strategy_profiles.capture.python_samples import PythonSamples
from strategy_profiles.capture.tables import (
    collective_table,
    core_step_table,
    replica_step_table,
    span_table,
    transfer_table,
)
from strategy_profiles.capture.tensors import tensor_table
from strategy_profiles.capture.xspace import Events, XSpaceColumns, decode
from strategy_profiles.guards import read_file
from strategy_profiles.run.topology import host_process
from strategy_profiles.tables.schema import TABLES

_MOST_PROBLEMS, _LONGEST = 20, 1000
_MOST_BYTES = 2 << 30
"""Of a raw capture: protobuf reads no more."""


@dataclass(frozen=True, slots=True)
class Converted:
    """The result of a conversion, for the window's event."""

    num_events: int
    num_spans: int
    num_unmatched: int
    num_ambiguous: int
    num_steps: int
    tables: dict[str, dict[str, int]]
    """The fields of `events.TableFile`, by table."""
    problems: list[str]
    """What the capture lacks; each continues a sentence."""
    convert_ms: float
    """CPU time. Wall time says nothing about the cost beside a training that uses all cores."""


@dataclass(frozen=True, slots=True)
class WindowOf:
    """Segment and worker of a window, written to every row.

    Rows of a TPU pod's hosts have the host's process in place of the worker.
    """

    segment: int
    worker: int
    calls: Mapping[int, int] | None = None
    """Number of steps of each recorded call, by its first step; None: each annotation is a step."""


def convert(
    xplane: Path,
    graph: Path | None,
    folder: Path,
    window: WindowOf,
    devices: Sequence[str],
    core_devices: Sequence[Sequence[str]] = (),
    hosts: Sequence[Path] = (),
    samples: PythonSamples | None = None,
) -> Converted:
    """Write the window's tables into `folder`, atomically.

    Args:
      xplane: the capture, an XSpace file.
      graph: the graph of the segment. Without one, spans have no device.
      folder: the window's folder. One of an earlier conversion is replaced.
      window: the segment and worker of the rows.
      devices: the replicas' devices, by replica.
      core_devices: with TPUStrategy, the devices by replica and core.
      hosts: the captures of a TPU pod's hosts.
      samples: samples of the Python stack.

    Raises LabError if the capture or the graph cannot be read, OSError if a write fails.
    """
    begin = time.process_time_ns()
    cores = tuple(tuple(devices) for devices in core_devices)
    known = _graph(graph, tuple(devices), cores) if graph is not None else Graph([], devices)
    captured = decode(read_file(xplane, _MOST_BYTES))
    if hosts:
        captured = with_hosts(captured, [decode(read_file(host, _MOST_BYTES)) for host in hosts])
    joined = join(captured, known, window.calls)
    tables = to_tables(joined, window, samples)
    written = write_tables(tables, folder)
    return Converted(
        joined.columns.num_events,
        tables["spans"].num_rows,
        joined.num_unmatched,
        joined.num_ambiguous,
        len(joined.steps),
        written,
        [text[:_LONGEST] for text in joined.problems[:_MOST_PROBLEMS]],
        (time.process_time_ns() - begin) / 1e6,
    )


@lru_cache(maxsize=2)
def _graph(path: Path, devices: tuple[str, ...], cores: tuple[tuple[str, ...], ...]) -> Graph:
    """Read a segment's graph. Cached: its windows share it, and the file never changes."""
    return read_graph(path, devices, cores)


def to_tables(
    joined: Joined, window: WindowOf, samples: PythonSamples | None = None
) -> dict[str, pa.Table]:
    """Return the tables of a capture joined with its graph; columns as in `tables.schema`."""
    measured = collectives.measured(joined)
    attribution: Attribution = attribute(joined, measured)
    spans = _table("spans", span_table(joined, attribution), window)
    columns: dict[str, dict[str, Any]] = {
        "replica_steps": replica_step_table(joined, attribution.replica_steps, spans),
        "core_steps": core_step_table(joined, attribution.core_steps),
        "collectives": collective_table(joined, [measured, collectives.derived(joined)]),
        "transfers": transfer_table(joined),
        "causes": cause_table(joined, attribution, samples or PythonSamples()),
        "input_stages": input_stage_table(joined),
        "tensors": tensor_table(joined),
    }
    return {"spans": spans} | {name: _table(name, own, window) for name, own in columns.items()}


def write_tables(tables: dict[str, pa.Table], folder: Path) -> dict[str, dict[str, int]]:
    """Write the tables to a temporary folder and rename it, so that a window is never partial.

    Replaces the folder of an earlier conversion. Returns the number of rows and the CRC-32 of each
    table's file. Raises OSError if a write fails.
    """
    written = {}
    scratch = folder.with_name(f".{folder.name}.part")
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            # Numbers rarely repeat, so a dictionary only helps text columns. A single row group
            # needs no statistics.
            few = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
            buffer = pa.BufferOutputStream()
            pq.write_table(
                table,
                buffer,
                compression="lz4",
                use_dictionary=few,
                write_statistics=False,
                write_page_checksum=True,
            )
            data = buffer.getvalue()
            (scratch / f"{name}.parquet").write_bytes(data)
            written[name] = {"num_rows": table.num_rows, "crc32": zlib.crc32(data)}
        shutil.rmtree(folder, ignore_errors=True)
        scratch.rename(folder)
        return written
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _table(name: str, columns: dict[str, Any], window: WindowOf) -> pa.Table:
    """Return the table `name` from its columns, the window's segment, and each row's worker.

    A transfer belongs to the worker that sends.
    """
    schema = TABLES[name]
    length = len(columns["step"])
    device = next((name for name in ("device", "send_device") if name in schema.names), None)
    known = columns | {
        "segment": np.full(length, window.segment, np.int32),
        "worker": np.full(length, window.worker, np.int32)
        if device is None
        else _workers(columns[device], window),
    }
    arrays = [known[field.name] for field in schema]
    return pa.table(
        [_as_type(array, field.type) for array, field in zip(arrays, schema, strict=True)],
        schema=schema,
    )


def _workers(devices: Any, window: WindowOf) -> pa.Array:
    """Return the process of each row's device: a pod's capture covers several processes."""
    column = devices if isinstance(devices, pa.Array) else pa.array(devices, pa.string())
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    hosts = [host_process(device) for device in column.dictionary.to_pylist()]
    of = pa.array([window.worker if host is None else host for host in hosts], pa.int32())
    return pc.fill_null(of.take(column.indices), window.worker)


def _as_type(values: Any, kind: pa.DataType) -> pa.Array:
    array = values if isinstance(values, pa.Array) else pa.array(values)
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(array.type):
        return array.cast(kind.value_type).dictionary_encode().cast(kind)
    return array.cast(kind)


_OF_HOSTS = (xspace.OP, xspace.ISSUED, xspace.DONE)


def with_hosts(whole: XSpaceColumns, parts: Sequence[XSpaceColumns]) -> XSpaceColumns:
    """Return the columns of a TPU pod's coordinator with the ops of its hosts.

    The coordinator's capture has the steps and calls, the hosts' captures have the ops. All
    processes run on one machine and use its clock. A step counts only if all of them capture while
    it runs.
    """
    places = {key: i for i, key in enumerate(zip(whole.names, whole.ops, strict=True))}
    events_of = {kind: [events] for kind, events in whole.by_kind.items()}
    for part in parts:
        names = [
            places.setdefault(key, len(places)) for key in zip(part.names, part.ops, strict=True)
        ]
        index = np.asarray(names, np.int64)
        for kind in _OF_HOSTS:
            events = _while_on(part.events(kind), whole)
            events_of.setdefault(kind, []).append(replace(events, name=index[events.name]))
    by_kind = {kind: xspace.concatenate(events) for kind, events in events_of.items()}
    if xspace.STEP in by_kind:
        by_kind[xspace.STEP] = _inside(by_kind[xspace.STEP], parts)
    return XSpaceColumns(
        [name for name, _ in places],
        [op for _, op in places],
        by_kind,
        whole.device_events,
        whole.stages,  # as their events, of the coordinator alone
        sum(each.num_events for each in (whole, *parts)),
        sum(each.num_dropped for each in (whole, *parts)),
        whole.from_ns,
        whole.until_ns,
        [problem for each in (whole, *parts) for problem in each.problems],
    )


def _while_on(events: Events, coordinator: XSpaceColumns) -> Events:
    """Return the events that begin while the coordinator captures; hosts capture for longer."""
    until_ns = coordinator.until_ns or np.iinfo(np.int64).max
    return events.take((events.start_ns >= coordinator.from_ns) & (events.start_ns <= until_ns))


def _inside(steps: Events, parts: Sequence[XSpaceColumns]) -> Events:
    """Return the steps during which every host captures."""
    from_ns = max(part.from_ns for part in parts)
    until_ns = min(part.until_ns for part in parts)
    return steps.take((steps.start_ns >= from_ns) & (steps.end_ns <= until_ns))
