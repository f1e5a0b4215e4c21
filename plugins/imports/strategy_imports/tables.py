"""The tables of a host of an imported profile, as a capture window of a run has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from strategy_imports.host_profile import HostProfile
from strategy_imports.recording import Ints
from strategy_imports.spans import TRANSFER, Spans
from strategy_profiles.capture.bandwidth import bandwidths
from strategy_profiles.capture.graph import CATEGORY_NAMES
from strategy_profiles.capture.kernel_names import copy_of
from strategy_profiles.tables.schema import TABLES

if TYPE_CHECKING:
    from strategy_imports.host_profile import HostProfile


_HOST_MEMORY = "S(5)"
"""The memory space of a TPU's host in the layout of an HLO shape."""
_COPY_START = re.compile(
    r"%?copy-start\S* = \((\S+?\[[^\]]*\]\{[^}]*\}), (\S+?\[[^\]]*\]\{[^}]*\})"
)


def copies(host: HostProfile, devices: Sequence[str], numbers: Ints) -> dict[str, Any]:
    """Return the columns; a side of a copy is null if the profile does not tell it."""
    spans = host.spans
    ends = _ends(host)
    is_copy = np.asarray([index in ends for index in range(len(host.texts.all))], bool)
    at = np.flatnonzero((spans.category == TRANSFER) & (spans.step >= 0) & (spans.device >= 0))
    # A TPU core's own line has no copies, only their begin and the waits for them.
    has_own = np.asarray([device.kind != "TPU" for device in host.devices], bool)[spans.device[at]]
    is_sent = (spans.bytes[at] >= 0) | (has_own & (spans.correlation[at] >= 0))
    at = at[is_copy[spans.op[at]] & is_sent]
    rows = spans.take(at)
    names = [ends.get(int(op), "") for op in rows.op]
    host_name = devices[-1]
    own = [devices[device] for device in rows.device.tolist()]
    return {
        "step": numbers[rows.step],
        "tensor": pa.array([host.texts.all[name] for name in rows.name], pa.string()),
        "bytes": pa.array(rows.bytes, mask=rows.bytes < 0),
        "send_device": pa.array(_side(0, names, own, host_name), pa.string()),
        "recv_device": pa.array(_side(1, names, own, host_name), pa.string()),
        "start_ns": rows.start_ns,
        "duration_ms": (rows.end_ns - rows.start_ns) / 1e6,
        "source": pa.array(["measured"] * len(rows), pa.string()),
        "bytes_source": pa.array(
            ["measured" if size >= 0 else None for size in rows.bytes.tolist()], pa.string()
        ),
    }


def _side(
    side: int, ends: Sequence[str], devices: Sequence[str], host_name: str
) -> list[str | None]:
    """Return the device at one side of each copy; None if it is another one than the copy's own."""
    named = {"H": host_name}
    return [
        named.get(end[side], device if end[side] == "D" else None)
        for end, device in zip(ends, devices, strict=True)
    ]


def _ends(host: HostProfile) -> dict[int, str]:
    """Return the ends of copies by the index of what ran: `HD`, `DH` or `PP`."""
    ends_of = {
        index: ends for index, name in enumerate(host.texts.all) if (ends := copy_of(name) or "")
    }
    for device in host.devices:
        for kind in device.plane.kinds:
            match = _COPY_START.match(kind.name)
            if match:
                name = kind.name.partition(" = ")[0].removeprefix("%")
                to, of = (_HOST_MEMORY in shape for shape in match.groups())
                if to != of:
                    ends_of[host.texts.index(name)] = "DH" if to else "HD"
    return ends_of


Columns = dict[str, Any]
_CLOCKS = ("host", "device")


def window_tables(
    host: HostProfile, worker: int, first_replica: int, names: Sequence[str], host_name: str
) -> dict[str, pa.Table]:
    """Return every table of the host's window.

    Args:
      host: what its recording says.
      worker: number of the host in the run.
      first_replica: number in the run of its first replica.
      names: the devices' names in the run; `host_name` is the host's own.
    """
    devices = [*names, host_name]
    numbers = np.append(host.steps.number, -1)
    columns = {
        "spans": _spans(host, devices, numbers, first_replica),
        "replica_steps": _replica_steps(host, devices, numbers, first_replica),
        "core_steps": {"step": np.zeros(0, np.int64)},
        "collectives": _collectives(host, devices, numbers, first_replica),
        "transfers": _transfers(copies(host, devices, numbers), host, numbers),
        "causes": {"step": np.zeros(0, np.int64)},
        "input_stages": {"step": np.zeros(0, np.int64)},
        "tensors": {"step": np.zeros(0, np.int64)},
    }
    return {name: table(name, values, worker) for name, values in columns.items()}


def table(name: str, columns: Columns, worker: int) -> pa.Table:
    """Return a table of the run's schema; columns that are not given are null."""
    schema = TABLES[name]
    length = len(next(iter(columns.values())))
    known = {
        "segment": np.zeros(length, np.int32),
        "worker": np.full(length, worker, np.int32),
    } | columns
    arrays = [_typed(known.get(field.name), field.type, length) for field in schema]
    return pa.table(arrays, schema=schema)


def _typed(values: Any, kind: pa.DataType, length: int) -> pa.Array:
    if values is None:
        if pa.types.is_dictionary(kind):
            return pa.array([None] * length, kind.value_type).dictionary_encode().cast(kind)
        return pa.nulls(length, kind)
    array = values if isinstance(values, pa.Array) else pa.array(values)
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(array.type):
        return array.cast(kind.value_type).dictionary_encode().cast(kind)
    return array.cast(kind)


def texts(index: Ints, known: Sequence[str]) -> pa.Array:
    """Return texts by index as a dictionary column; null where the index is -1 or it is empty."""
    unique, code_of = np.unique(np.asarray([*known, ""], dtype=object), return_inverse=True)
    codes = code_of[index].astype(np.int32)
    empty = int(np.searchsorted(unique, ""))
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes == empty), pa.array(list(unique), pa.string())
    )


def nullable(values: Ints) -> pa.Array:
    return pa.array(values, mask=values < 0)


def replica_numbers(spans: Spans, first_replica: int) -> pa.Array:
    return nullable(np.where(spans.replica >= 0, spans.replica + first_replica, -1))


def _transfers(copied: Columns, host: HostProfile, numbers: Ints) -> Columns:
    """Return the copies, then the messages between slices that arrived in a step."""
    step = host.steps.host.of(host.messages.end_ns)
    chosen = np.flatnonzero((step >= 0) & host.messages.is_across)
    messages = host.messages.take(chosen)
    sent, received = (
        [f"/slice:{ends[at]}/device:TPU:{ends[at + 1]}" for ends in messages.ends.tolist()]
        for at in (0, 2)
    )
    own: Columns = {
        "step": numbers[step[chosen]],
        "tensor": pa.array([name or None for name in messages.collective], pa.string()),
        "bytes": messages.bytes,
        "send_device": pa.array(sent, pa.string()),
        "recv_device": pa.array(received, pa.string()),
        "start_ns": messages.start_ns,
        "duration_ms": (messages.end_ns - messages.start_ns) / 1e6,
        "source": pa.array(["measured"] * len(messages), pa.string()),
        "bytes_source": pa.array(["measured"] * len(messages), pa.string()),
    }
    return {name: _after(column, own[name]) for name, column in copied.items()}


def _after(first: Any, second: Any) -> pa.Array:
    """Return two columns of one type after each other."""
    first = first if isinstance(first, pa.Array) else pa.array(first)
    second = second if isinstance(second, pa.Array) else pa.array(second)
    return pa.concat_arrays([first, second.cast(first.type)])


def _spans(host: HostProfile, devices: Sequence[str], numbers: Ints, first: int) -> Columns:
    spans = host.spans
    return {
        "step": nullable(numbers[spans.step]),
        "device": texts(device_of_rows(host, spans), devices_with_replicas(host, devices)),
        "replica": replica_numbers(spans, first),
        "name": texts(spans.name, host.texts.all),
        "op": texts(spans.op, host.texts.all),
        "category": texts(spans.category, CATEGORY_NAMES),
        "start_ns": spans.start_ns,
        "duration_ns": spans.end_ns - spans.start_ns,
        "clock": texts((spans.device >= 0).astype(np.int64), _CLOCKS),
        "thread": spans.thread,
    }


def devices_with_replicas(host: HostProfile, devices: Sequence[str]) -> list[str]:
    """Return the devices' names, then those of replicas that share one device with others."""
    return [*devices, *replica_devices(host, devices)]


def replica_devices(host: HostProfile, devices: Sequence[str]) -> list[str]:
    """Return the name of each replica's device; the number is added if several share one."""
    own = host.replicas.devices
    return [
        f"{devices[device]} (replica {replica})" if own.count(device) > 1 else devices[device]
        for replica, device in enumerate(own)
    ]


def device_of_rows(host: HostProfile, spans: Spans) -> Ints:
    """Return each row's index in `devices_with_replicas`."""
    num_devices = len(host.devices) + 1
    own = np.where(spans.device >= 0, spans.device, num_devices - 1)
    return np.where(spans.replica >= 0, num_devices + spans.replica, own)


def _replica_steps(host: HostProfile, devices: Sequence[str], numbers: Ints, first: int) -> Columns:
    named = replica_devices(host, devices)
    source = "derived" if host.steps.is_derived else "measured"
    parts: list[Columns] = []
    for split in host.splits:
        length = len(host.steps)
        on_device = host.replicas.devices[split.replica] >= 0
        parts.append(
            {
                "step": numbers[:length],
                "replica": np.full(length, first + split.replica),
                "device": np.full(length, split.replica),
                "start_ns": split.windows.start_ns,
                "wall_ms": (split.windows.end_ns - split.windows.start_ns) / 1e6,
                **{
                    f"{phase}_ms": getattr(split, f"{phase}_ns") / 1e6
                    for phase in ("compute", "wait", "transfer", "input", "idle")
                },
                "clock": np.full(length, int(on_device)),
            }
        )
    if not parts:
        return {"step": np.zeros(0, np.int64)}
    joint = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    rows = len(joint["step"])
    return joint | {
        "device": texts(joint["device"], named),
        "clock": texts(joint["clock"], _CLOCKS),
        "source": texts(np.zeros(rows, np.int64), [source]),
    }


def _collectives(host: HostProfile, devices: Sequence[str], numbers: Ints, first: int) -> Columns:
    collectives = host.collectives
    rows = host.spans.take(collectives.span)
    moving = np.clip(collectives.all_started_ns, rows.start_ns, rows.end_ns)
    transfer_s = (rows.end_ns - moving) / 1e9
    algbw, busbw = bandwidths(collectives.bytes, transfer_s, collectives.op, collectives.group_size)
    return {
        "step": numbers[rows.step],
        "replica": replica_numbers(rows, first),
        "device": texts(device_of_rows(host, rows), devices_with_replicas(host, devices)),
        "op": pa.array(collectives.op, pa.string()),
        "name": texts(rows.name, host.texts.all),
        "instance": collectives.instance,
        "group_size": nullable(collectives.group_size),
        "bytes": nullable(collectives.bytes),
        "start_ns": rows.start_ns,
        "wait_ms": (moving - rows.start_ns) / 1e6,
        "transfer_ms": (rows.end_ns - moving) / 1e6,
        "algbw_gbps": pa.array(algbw, mask=np.isnan(algbw)),
        "busbw_gbps": pa.array(busbw, mask=np.isnan(busbw)),
        "source": texts(np.zeros(len(rows), np.int64), ["measured"]),
        "bytes_source": texts(np.where(collectives.bytes >= 0, 0, -1), ["derived"]),
    }
