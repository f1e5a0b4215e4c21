"""Events of a Chrome trace with the plane and the line that they would have in an XPlane file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from strategy_imports.chrome_spellings import (
    DEVICE_LABEL,
    DEVICE_PROCESSES,
    MAKERS,
    ROLES,
    STEP,
    Role,
)
from strategy_imports.recording import EPOCH_NS, GROUP_SIZE, MOVED_BYTES
from strategy_imports.tensor_sizes import (
    collective_bytes,
    group_size,
    is_count,
)
from strategy_profiles.capture.kernel_names import collective_of

_HOST = "/host:CPU"
_SIZE = re.compile(r"[0-9]{1,17}")
"""A size as ROCm writes it: a text."""
_COUNTS = ("In msg nelems", "Out msg nelems", "Group size", "Process Group Ranks")
_SIZED = frozenset(("bytes", "size", "Input Dims", "Input dims", *_COUNTS))
"""Arguments that tell how much an event moves, and among how many."""
_LARGEST = 2**61
_LATEST_US = 2**61 / 1e3


class Event(Protocol):
    """An event as the file has it."""

    ph: Any
    name: Any
    cat: Any
    pid: Any
    tid: Any
    ts: Any
    dur: Any
    args: Any


class CompleteEvent(NamedTuple):
    """A complete event."""

    process: str
    """The name of its process; empty if it has none."""
    plane: str
    line: str
    name: str
    category: str
    """In lower case; empty if the trace has none, as those of TensorFlow and JAX."""
    role: Role | None
    """None if the category is not known: then its process says whether it is a device's."""
    start_ns: int
    end_ns: int
    stats: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Names:
    """The names that a trace gives to its processes and threads, by pid and by pid and tid."""

    processes: Mapping[str, str]
    devices: Mapping[str, str]
    """Of processes that are a device: `MTIA:9`."""
    threads: Mapping[tuple[str, str], str]


def interpret(events: Sequence[Event], base_ns: int = 0) -> Iterator[CompleteEvent]:
    """Yield the complete events: those with a length, and pairs of a begin and an end.

    `base_ns` is added to times that are not since the epoch.
    """
    names = _names(events)
    begun: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        thread = (str(event.pid), str(event.tid))
        if event.ph == "X":
            read = _read(event, _us(event.dur), base_ns, names)
        elif event.ph == "B":
            begun.setdefault(thread, []).append(event)
            continue
        elif event.ph == "E" and begun.get(thread):
            first = begun[thread].pop()
            read = _read(first, _us(event.ts) - _us(first.ts), base_ns, names)
        else:
            continue
        if read is not None:
            yield read


def _names(events: Sequence[Event]) -> _Names:
    processes: dict[str, str] = {}
    devices: dict[str, str] = {}
    threads: dict[tuple[str, str], str] = {}
    for event in events:
        if event.ph != "M" or not isinstance(event.args, dict):
            continue
        name, labels = event.args.get("name"), event.args.get("labels")
        if event.name == "process_name" and isinstance(name, str):
            processes[str(event.pid)] = name
            if kind := DEVICE_PROCESSES.get(name.lower()):
                number = sum(device.startswith(kind) for device in devices.values())
                devices[str(event.pid)] = f"{kind}:{number}"
        elif event.name == "thread_name" and isinstance(name, str):
            threads[str(event.pid), str(event.tid)] = name
        elif event.name == "process_labels" and (label := DEVICE_LABEL.fullmatch(str(labels))):
            devices[str(event.pid)] = f"{label[1].upper()}:{label[2]}"
    return _Names(processes, devices, threads)


def _read(event: Event, length_us: float, base_ns: int, names: _Names) -> CompleteEvent | None:
    start_us = _us(event.ts)
    if not (0 <= start_us < _LATEST_US and 0 <= length_us < _LATEST_US):
        return None
    args = event.args if isinstance(event.args, dict) else {}
    category = str(event.cat).lower()[:100] if event.cat else ""
    role = ROLES.get(category)
    plane, line = _plane_and_line(event, category, args, names)
    whole_us = int(start_us)  # a float holds the time since 1970 in us, not in ns
    start_ns = whole_us * 1000 + round((start_us - whole_us) * 1e3)
    end_ns = start_ns + round(length_us * 1e3)
    base_ns = base_ns if start_ns < EPOCH_NS else 0
    name = str(event.name)[:1000]
    if "direction" in args and role == "device":  # MTIA: HOST_TO_DEVICE
        name = f"{name} {args['direction']}"[:1000]
    stats = _stats(name, role, args)
    stats = stats if category else {**args, **stats}
    process = names.processes.get(str(event.pid), "")
    return CompleteEvent(
        process, plane, line, name, category, role, start_ns + base_ns, end_ns + base_ns, stats
    )


def _plane_and_line(
    event: Event, category: str, args: Mapping[str, Any], names: _Names
) -> tuple[str, str]:
    """Return plane and line: by the category, if it is known, else by the process."""
    pid, tid = str(event.pid), str(event.tid)
    role = ROLES.get(category)
    if role == "device" or (role is None and _is_of_device(pid, category, args, names)):
        unnamed = f"{MAKERS.get(category, 'GPU')}:{pid}"
        kind, _, number = names.devices.get(pid, unnamed).partition(":")
        number = str(args["device"]) if isinstance(args.get("device"), int) else number
        return f"/device:{kind}:{number}", f"Stream #{args.get('stream', tid)}"
    process = names.processes.get(pid, "")
    thread = names.threads.get((pid, tid), tid)
    return (process if process.startswith("/device:") else _HOST), thread


def _is_of_device(pid: str, category: str, args: Mapping[str, Any], names: _Names) -> bool:
    is_told = all(isinstance(args.get(key), int) for key in ("device", "stream"))
    return pid in names.devices or (bool(category) and is_told)


def _stats(name: str, role: Role | None, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an event of PyTorch says, under the names that XPlane files have for it."""
    stats: dict[str, Any] = {}
    if "correlation" in args:
        stats["correlation_id"] = args["correlation"]
    if role != "device" and (step := STEP.match(name)):
        stats["step_num"] = step[1]
    if not args.keys().isdisjoint(_SIZED):
        stats |= _moved(name, args)
    if role == "device" and "Collective name" in args and collective_of(name):
        stats["tf_op"] = f"nccl:{args['Collective name']}"
    return stats


def _moved(name: str, args: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the size of a copy or a collective, and the number of its ranks, as stats."""
    sizes = (collective_bytes(name, args), _size(args.get("bytes")), _size(args.get("size")))
    if (size := next(filter(None, sizes), None)) is not None:
        yield MOVED_BYTES, size
    if (ranks := group_size(args)) is not None:
        yield GROUP_SIZE, ranks


def _size(value: Any) -> int | None:
    number = int(value) if isinstance(value, str) and _SIZE.fullmatch(value) else value
    return number if is_count(number, _LARGEST) else None


def _us(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number
