"""Events of a Chrome trace with the plane and the line that they would have in an XPlane file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from strategy_lab.profiles.imports.recording import COLLECTIVE_BYTES

_HOST = "/host:CPU"
_ON_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
"""Categories of PyTorch's events on a GPU; device and stream are among their arguments."""
_PYTORCH_STEP = re.compile(r"ProfilerStep#(\d{1,17})$")
_DTYPE_BYTES = {
    **dict.fromkeys(("Byte", "Char", "Bool", "Float8_e4m3fn", "Float8_e5m2"), 1),
    **dict.fromkeys(("Half", "BFloat16", "Short"), 2),
    **dict.fromkeys(("Float", "Int"), 4),
    **dict.fromkeys(("Double", "Long"), 8),
}
_MOST_ELEMENTS = 2**50
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
class CompleteEvent:
    """A complete event."""

    plane: str
    line: str
    name: str
    start_ns: int
    end_ns: int
    stats: Mapping[str, Any]


def interpret(events: Sequence[Event]) -> Iterator[CompleteEvent]:
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
) -> CompleteEvent | None:
    start_us = _us(event.ts)
    if not (0 <= start_us < _LATEST_US and 0 <= length_us < _LATEST_US):
        return None
    args = event.args if isinstance(event.args, dict) else {}
    name = str(event.name)[:1000]
    plane, line = _place(event, args, processes, threads)
    start_ns = round(start_us * 1e3)
    end_ns = max(start_ns, round((start_us + length_us) * 1e3))
    return CompleteEvent(plane, line, name, start_ns, end_ns, _stats(name, args))


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
    if (size := _collective_bytes(args)) is not None:
        stats[COLLECTIVE_BYTES] = size
    if "correlation" in args:
        stats["correlation_id"] = args["correlation"]
    if "bytes" in args:
        stats["memcpy_details"] = f"size:{args['bytes']}"
    if step is not None:
        stats["step_num"] = step[1]
    return stats


def _collective_bytes(args: Mapping[str, Any]) -> int | None:
    """Return the size of PyTorch's collective; its operand or its result, whichever is larger."""
    counts = [args.get(f"{side} msg nelems") for side in ("In", "Out")]
    known = [count for count in counts if isinstance(count, int) and 0 <= count < _MOST_ELEMENTS]
    size = _DTYPE_BYTES.get(str(args.get("dtype")))
    return max(known) * size if known and size else None


def _us(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number
