"""Events of a Chrome trace with the plane and the line that they would have in an XPlane file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_HOST = "/host:CPU"
_ON_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
"""Categories of PyTorch's events on a GPU; device and stream are among their arguments."""
_PYTORCH_STEP = re.compile(r"ProfilerStep#(\d{1,17})$")
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


@dataclass(frozen=True, slots=True)
class Read:
    """A complete event."""

    plane: str
    line: str
    name: str
    start_ns: int
    end_ns: int
    stats: Mapping[str, Any]


def interpret(events: Sequence[Event]) -> Iterator[Read]:
    """Yield the complete events: those with a length, and pairs of a begin and an end."""
    processes, threads = _names(events)
    begun: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        place = (str(event.pid), str(event.tid))
        if event.ph == "X":
            read = _read(event, _us(event.dur), processes, threads)
        elif event.ph == "B":
            begun.setdefault(place, []).append(event)
            continue
        elif event.ph == "E" and begun.get(place):
            first = begun[place].pop()
            read = _read(first, _us(event.ts) - _us(first.ts), processes, threads)
        else:
            continue
        if read is not None:
            yield read


def _names(events: Sequence[Event]) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    processes: dict[str, str] = {}
    threads: dict[tuple[str, str], str] = {}
    for event in events:
        args = event.args if isinstance(event.args, dict) else {}
        if event.ph == "M" and isinstance(args.get("name"), str):
            if event.name == "process_name":
                processes[str(event.pid)] = args["name"]
            elif event.name == "thread_name":
                threads[str(event.pid), str(event.tid)] = args["name"]
    return processes, threads


def _read(
    event: Event, length_us: float, processes: Mapping[str, str], threads: Mapping[Any, str]
) -> Read | None:
    start_us = _us(event.ts)
    if not (0 <= start_us < _LATEST_US and 0 <= length_us < _LATEST_US):
        return None
    args = event.args if isinstance(event.args, dict) else {}
    name = str(event.name)[:1000]
    plane, line = _place(event, args, processes, threads)
    start_ns = round(start_us * 1e3)
    end_ns = max(start_ns, round((start_us + length_us) * 1e3))
    return Read(plane, line, name, start_ns, end_ns, _stats(name, args))


def _place(
    event: Event,
    args: Mapping[str, Any],
    processes: Mapping[str, str],
    threads: Mapping[Any, str],
) -> tuple[str, str]:
    if event.cat in _ON_DEVICE and isinstance(args.get("device"), int):
        return f"/device:GPU:{args['device']}", f"Stream #{args.get('stream')}"
    process = processes.get(str(event.pid), "")
    thread = threads.get((str(event.pid), str(event.tid)), str(event.tid))
    return (process if process.startswith("/device:") else _HOST), thread


def _stats(name: str, args: Mapping[str, Any]) -> Mapping[str, Any]:
    step = _PYTORCH_STEP.match(name)
    if "correlation" not in args and step is None:
        return args
    stats = dict(args)
    if "correlation" in args:
        stats["correlation_id"] = args["correlation"]
    if "bytes" in args:
        stats["memcpy_details"] = f"size:{args['bytes']}"
    if step is not None:
        stats["step_num"] = step[1]
    return stats


def _us(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number
