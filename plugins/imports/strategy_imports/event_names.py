"""What the name of an event from another program says: a call, an op of the host, bookkeeping."""

from __future__ import annotations

import re

from strategy_imports.recording import EventKind
from strategy_profiles.capture.event_names import CALLED, GET_NEXT, INPUT
from strategy_profiles.capture.graph import category

_BOOKKEEPING = ("ThreadpoolListener::", "ExecutorState::", "$", "MemoryDeallocation")
"""Thread pools, the executor's own work, and frames of Python's tracer (`$file.py:12 function`)."""

_HLO_NAME = re.compile(r"%?([\w.\-]+) = ")
_LOADER = re.compile(r"enumerate\(DataLoader\)#", re.IGNORECASE)
"""PyTorch's annotation of the wait for the next batch."""
_CALLS = (
    CALLED,
    re.compile(r"(PjitFunction\(.+\))$"),
    re.compile(r"(?:TfrtTpu|Pjrt|XlaModule|GpuExecutable)\w*[:#](\w+)"),
)


def is_left_out(name: str) -> bool:
    """Return whether an event is bookkeeping of the program's runtime or of Python's tracer."""
    return name.startswith(_BOOKKEEPING)


def called(name: str) -> str | None:
    """Return the function of the program that an event of the host calls, or None."""
    for pattern in _CALLS:
        if match := pattern.match(name):
            return match[1]
    return None


def ran_as(kind: EventKind) -> str:
    """Return the name of the kernel or the HLO instruction that ran."""
    match = _HLO_NAME.match(kind.name)
    if match and " = " in kind.name:
        return match[1]  # `fusion.2` of `%fusion.2 = f32[8]{0} fusion(...)`
    return kind.display_name or kind.name or "unnamed"


def host_category(name: str, node: tuple[str, str] | None) -> str:
    """Return the category of an event on a thread of the host; `node` is its node and op."""
    if GET_NEXT.match(name) or name == INPUT or _LOADER.match(name):
        return "input"
    return category(*node) if node else "other"
