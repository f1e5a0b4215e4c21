"""What the name of a kernel, a copy or an instruction says that a device ran.

Captures and imported profiles are read by the same names: those of TensorFlow's, JAX's and XLA's
profilers and of the libraries whose kernels they name (NCCL, RCCL, CUDA, HIP), in their versions
since 2020.
"""

from __future__ import annotations

import re

from strategy_profiles.capture.event_names import split_op_name
from strategy_profiles.capture.graph import COLLECTIVES

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
_INFEED = re.compile(r"%?(infeed|outfeed)\b|Infeed|IteratorGetNext")
_EVENT = re.compile(r"event_(?:wait|record)$")
"""A stream waits for another one of its device, or marks a place: nothing runs."""
_WAIT = re.compile(r"barrier-cores|(?:semaphore|sync|barrier|dependency)-wait")


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


def executed_category(
    ran: str, program_op: str = "", hlo_category: str = "", on_line: str = ""
) -> str:
    """Return the category of what a device ran.

    Args:
      ran: the name of the kernel, the copy or the instruction.
      program_op: the program's op, `dense/MatMul:MatMul`; empty if unknown.
      hlo_category: of an instruction of XLA.
      on_line: the ends of the copies that its line has, as `copy_of` returns them.
    """
    category = device_category(ran, hlo_category)
    if category == "compute" and program_op:
        category = device_category(program_op)
    if category == "compute" and (copy_of(ran) or on_line) not in ("", "DD"):
        category = "transfer"
    return category


def is_waiting_collective(ran: str) -> bool:
    """Return whether a kernel or an instruction is a whole collective, which waits for its peers:
    of NCCL, a library like it, or XLA."""
    return (_LIBRARY.match(ran) or _HLO.match(ran)) is not None
