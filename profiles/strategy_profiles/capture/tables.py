"""Columns of the window tables, from a joined capture. Only this module converts -1 to null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from strategy_profiles.capture.attribution import Attribution, SplitSteps
from strategy_profiles.capture.bandwidth import bandwidths
from strategy_profiles.capture.collectives import CollectiveRows
from strategy_profiles.capture.exposed import exposed_columns
from strategy_profiles.capture.graph import CATEGORY_NAMES, RECEIVES
from strategy_profiles.capture.joined import (
    INPUT,
    TRANSFER,
    WAIT,
    Joined,
    Occurrences,
)
from strategy_profiles.tables.columns import Ints
from strategy_profiles.tables.schema import CATEGORIES, ESTIMATED

Columns = dict[str, Any]

CLOCKS = ("host", "device")


def span_table(joined: Joined, attribution: Attribution) -> Columns:
    """Return op events, the host's input requests, and the waits and transfers of receives."""
    ops, host = joined.ops, joined.host_inputs
    parts = [
        _spans(
            ops.step,
            ops.device,
            ops.name,
            ops.category,
            ops.start_ns,
            ops.end_ns,
            ops.on_device_clock.astype(np.int64),
            ops.thread,
        ),
        _plain_spans(joined.steps.of(host.start_ns), -1, host.name, INPUT, host, host.thread),
        *_gap_spans(joined, attribution),
    ]
    joint = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    devices = joined.devices
    replicas = np.asarray([joined.graph.replica_of.get(d, -1) for d in devices] + [-1], np.int64)
    return {
        "step": _nullable(_step_numbers(joined, joint["step"])),
        "device": _texts(joint["device"], devices),
        "replica": _nullable(replicas[joint["device"]]),
        "name": _texts(joint["name"], joined.columns.names),
        "op": _texts(joint["name"], joined.columns.ops),
        "category": _texts(joint["category"], CATEGORY_NAMES),
        "start_ns": joint["start_ns"],
        "duration_ns": joint["end_ns"] - joint["start_ns"],
        "clock": _texts(joint["clock"], CLOCKS),
        "thread": joint["thread"],
    }


def replica_step_table(joined: Joined, rows: SplitSteps, spans: pa.Table) -> Columns:
    columns = _split_columns(joined, rows)
    return columns | exposed_columns(spans, columns["step"], rows.replica)


def core_step_table(joined: Joined, rows: SplitSteps) -> Columns:
    return _split_columns(joined, rows) | {"core": rows.core}


def _split_columns(joined: Joined, rows: SplitSteps) -> Columns:
    phases = ("wall", *CATEGORIES)
    return {
        "step": _step_numbers(joined, rows.step),
        "replica": rows.replica,
        "device": _texts(rows.device, joined.devices),
        "start_ns": rows.start_ns,
        **{f"{phase}_ms": getattr(rows, f"{phase}_ns") / 1e6 for phase in phases},
        "clock": _texts(rows.on_device_clock.astype(np.int64), CLOCKS),
        "source": _texts(np.zeros(len(rows.step), np.int64), ["measured"]),
    }


def collective_table(joined: Joined, kinds: Sequence[CollectiveRows]) -> Columns:
    parts = [_collective_columns(joined, rows) for rows in kinds]
    return {key: _concatenate([part[key] for part in parts]) for key in parts[0]}


def transfer_table(joined: Joined) -> Columns:
    """Return every send between devices in a captured step, until the end of its receive."""
    ops, received = joined.ops, joined.received
    at = np.flatnonzero(joined.graph.is_send[ops.node] & (ops.step >= 0))
    nodes = [joined.node(int(index)) for index in ops.node[at]]
    peers = {node.index: joined.graph.peer(node) for node in set(nodes)}
    receive = np.asarray([p.index if (p := peers[n.index]) else -1 for n in nodes], np.int64)
    arrival = Occurrences(received.node, received.done_ns).first_from(receive, ops.start_ns[at])
    done = received.done_ns[arrival] if len(received.done_ns) else np.zeros(len(at), np.int64)
    duration = pa.array((done - ops.start_ns[at]) / 1e6, mask=arrival < 0)
    return {
        "step": _step_numbers(joined, ops.step[at]),
        "tensor": [_tensor_name(node.tensor) for node in nodes],
        "bytes": [node.bytes for node in nodes],
        "send_device": [node.send_device for node in nodes],
        "recv_device": [node.recv_device for node in nodes],
        "start_ns": ops.start_ns[at],
        "duration_ms": duration,
        "source": ["measured"] * len(nodes),
        "bytes_source": [None if node.bytes is None else "derived" for node in nodes],
    }


def _collective_columns(joined: Joined, rows: CollectiveRows) -> Columns:
    replicas = np.asarray(
        [joined.graph.replica_of.get(d, -1) for d in joined.devices] + [-1], np.int64
    )
    algbw, busbw = bandwidths(rows.bytes, rows.transfer_ns / 1e9, rows.op, rows.group_size)
    ops = sorted(set(rows.op))
    return {
        "step": pa.array(_step_numbers(joined, rows.step)),
        "replica": _nullable(replicas[rows.device]),
        "device": _texts(rows.device, joined.devices),
        "op": _texts(np.asarray([ops.index(op) for op in rows.op], np.int64), ops),
        "name": pa.array(
            [joined.node(i).name if i >= 0 else None for i in rows.node.tolist()], pa.string()
        ),
        "instance": pa.array(rows.instance),
        "group_size": pa.array(rows.group_size),
        "bytes": _nullable(rows.bytes),
        "start_ns": pa.array(rows.start_ns),
        "wait_ms": pa.array(rows.wait_ns / 1e6),
        "transfer_ms": pa.array(rows.transfer_ns / 1e6),
        "algbw_gbps": pa.array(algbw, mask=np.isnan(algbw)),
        "busbw_gbps": pa.array(busbw, mask=np.isnan(busbw)),
        "source": _texts(np.where(rows.is_whole, 0, 1), [rows.source, ESTIMATED]),
        "bytes_source": _texts(np.where(rows.bytes >= 0, 0, -1), ["derived"]),
    }


def _spans(
    step: Ints,
    device: Ints,
    name: Ints,
    category: Ints,
    start_ns: Ints,
    end_ns: Ints,
    clock: Ints,
    thread: Ints,
) -> dict[str, Ints]:
    return {
        "step": step,
        "device": device,
        "name": name,
        "category": category,
        "start_ns": start_ns,
        "end_ns": end_ns,
        "clock": clock,
        "thread": thread,
    }


def _plain_spans(
    step: Ints, device: int, name: Ints, category: int, times: Any, thread: Ints
) -> dict[str, Ints]:
    """Return spans of one category on one device, on the host's clock."""
    same = np.ones(len(step), np.int64)
    return _spans(
        step, same * device, name, same * category, times.start_ns, times.end_ns, same * 0, thread
    )


def _gap_spans(joined: Joined, attribution: Attribution) -> list[dict[str, Ints]]:
    """Return spans for receives: the gap that a receive ends, as it records no interval."""
    columns = joined.columns
    index = {n: i for i, n in enumerate(columns.names) if columns.ops[i] in RECEIVES}
    parts = []
    for device, gaps in attribution.gaps:
        if not len(gaps.node):
            continue
        named = {int(n): index.get(joined.node(int(n)).name, -1) for n in np.unique(gaps.node)}
        name = np.asarray([named[int(n)] for n in gaps.node], np.int64)
        known = len(gaps.node)
        for category, start, end in (
            (WAIT, gaps.wait_from[:known], gaps.wait_until[:known]),
            (TRANSFER, gaps.transfer_from, gaps.transfer_until),
        ):
            some = end > start
            same = np.ones(int(some.sum()), np.int64)
            parts.append(
                _spans(
                    gaps.step[some],
                    same * device,
                    name[some],
                    same * category,
                    start[some],
                    end[some],
                    same * 0,
                    same * 0,
                )
            )
    return parts


def _step_numbers(joined: Joined, step: Ints) -> Ints:
    return np.append(joined.steps.number, -1)[step]


def _nullable(values: Ints) -> pa.Array:
    return pa.array(values, mask=values < 0)


def _texts(index: Ints, texts: Sequence[str]) -> pa.Array:
    """Return texts by index as a dictionary column; null if the index is -1 or the text empty."""
    unique, codes_of = np.unique(np.asarray([*texts, ""], dtype=object), return_inverse=True)
    codes = codes_of[index].astype(np.int32)
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes == codes_of[-1]), pa.array(list(unique), pa.string())
    )


def _concatenate(parts: list[pa.Array]) -> pa.Array:
    plain = [p.cast(p.type.value_type) if pa.types.is_dictionary(p.type) else p for p in parts]
    return pa.concat_arrays(plain)


def _tensor_name(tensor: str | None) -> str | None:
    """Return `dense/MatMul` for `edge_83_dense/MatMul`, the runtime's name of the edge."""
    if tensor is None or not tensor.startswith("edge_"):
        return tensor
    return tensor.removeprefix("edge_").partition("_")[2] or tensor
