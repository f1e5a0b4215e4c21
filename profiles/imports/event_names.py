"""What the name of an event from another program says: a collective, a copy, a call, bookkeeping.

The patterns are those of TensorFlow's, JAX's and XLA's profilers and of the libraries whose kernels
they name (NCCL, RCCL, CUDA, HIP), in their versions since 2020.
"""

from __future__ import annotations

import re

from strategy_lab.profiles.capture.event_names import CALLED, GET_NEXT, INPUT, split_op_name
from strategy_lab.profiles.capture.graph import COLLECTIVES, category
from strategy_lab.profiles.imports.recording import EventKind

_BOOKKEEPING = ("ThreadpoolListener::", "ExecutorState::", "$", "MemoryDeallocation")
"""Thread pools, the executor's own work, and frames of Python's tracer (`$file.py:12 function`)."""

_LIBRARY = re.compile(
    r"(?:(?:nccl|rccl|msccl|hccl|hcom|xccl)(?::+|\w*?)|(?:gloo|ucc|mpi):+)_?(all_?reduce|all_?gather|"
    r"reduce_?scatter|broadcast|bcast|reduce|all_?to_?all|send_?recv|send|recv|generic)",
    re.IGNORECASE,
)
"""A kernel of such a library, or PyTorch's annotation of the call: `nccl:_all_gather_base`."""
_HLO = re.compile(
    r"%?(all-reduce|all-gather|reduce-scatter|all-to-all|ragged-all-to-all|collective-broadcast|"
    r"collective-permute)(?:-(start|done))?\b"
)
_OPS = {
    "allreduce": "all-reduce",
    "allgather": "all-gather",
    "reducescatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
    "bcast": "broadcast",
    "reduce": "reduce",
    "sendrecv": "send-receive",
    "send": "send-receive",
    "recv": "send-receive",
    "generic": "collective",  # a kernel for any of them
    "collective-broadcast": "broadcast",
    "ragged-all-to-all": "all-to-all",
}
_COPY = re.compile(
    r"Mem(?:cpy|ory).*?([HDP])(?:to|2)([HDP])|\b(H|D)\w+_TO_(H|D)(?:OST|EVICE)\b", re.IGNORECASE
)
_HLO_COPY = re.compile(r"%?(copy-(?:start|done)|async-copy|send|recv|slice-(?:start|done))\b")
_HLO_NAME = re.compile(r"%?([\w.\-]+) = ")
_INFEED = re.compile(r"%?(infeed|outfeed)\b|Infeed|IteratorGetNext")
_LOADER = re.compile(r"enumerate\(DataLoader\)#", re.IGNORECASE)
"""PyTorch's annotation of the wait for the next batch."""
_EVENT = re.compile(r"event_(?:wait|record)$")
"""A stream waits for another one of its device, or marks a place: nothing runs."""
_WAIT = re.compile(r"barrier-cores|(?:semaphore|sync|barrier|dependency)-wait")
_CALLS = (
    CALLED,
    re.compile(r"(PjitFunction\(.+\))$"),
    re.compile(r"(?:TfrtTpu|Pjrt|XlaModule|GpuExecutable)\w*[:#](\w+)"),
)


def is_left_out(name: str) -> bool:
    """Return whether an event is bookkeeping of the program's runtime or of Python's tracer."""
    return name.startswith(_BOOKKEEPING)


def collective_of(name: str) -> str | None:
    """Return the collective that a kernel, an HLO instruction or an op is, or None."""
    if match := _LIBRARY.match(name):
        return _OPS[match[1].lower().replace("_", "")]
    if match := _HLO.match(name):
        return _OPS.get(match[1], match[1])
    node = split_op_name(name)
    return COLLECTIVES.get(node[1] if node else name)


def copy_of(name: str) -> str | None:
    """Return a copy's ends as `HD`, `DH`, `DD` or `PP`, from the name of a call or a stream."""
    match = _COPY.search(name)
    return "".join(filter(None, match.groups())).upper() if match else None


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


def device_category(name: str, hlo_category: str = "") -> str:
    """Return the category of an event that a device ran: as in the column `spans.category`."""
    if collective_of(name) or collective_of(hlo_category):
        return "collective"
    if _WAIT.match(name):
        return "wait"
    if _EVENT.match(name):
        return "other"
    if _INFEED.match(name) or "infeed" in hlo_category:
        return "input"
    copied = copy_of(name)
    if (copied and copied != "DD") or _HLO_COPY.match(name) or _HLO_COPY.match(hlo_category):
        return "transfer"
    return "compute"


def host_category(name: str, node: tuple[str, str] | None) -> str:
    """Return the category of an event on a thread of the host; `node` is its node and op."""
    if GET_NEXT.match(name) or name == INPUT or _LOADER.match(name):
        return "input"
    return category(*node) if node else "other"
