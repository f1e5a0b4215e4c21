"""Place what accelerators ran: on which device of the program, in which step, for which node.

A plane has the number that CUDA gives a card, which need not be that of TensorFlow's device: a
program may see some cards only, or split a card into several logical devices. What ran for a node
of the graph tells the device; the rest of its plane, or of its stream, follows.

A kernel belongs to the step that launched it. NCCL's kernels carry no node: the n-th one of a step
on a device is the n-th collective that all members had launched, as NCCL's manager starts them in
that order. A copy carries its edge's name, which tells the send.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strategy_profiles.capture import kernel_names, xspace
from strategy_profiles.capture.graph import CATEGORY_NAMES, RECEIVES, SENDS, Graph, Node
from strategy_profiles.capture.launches import device_windows, launching_calls
from strategy_profiles.capture.xspace import Executed, XSpaceColumns
from strategy_profiles.tables.columns import Ints

_COLLECTIVE = CATEGORY_NAMES.index("collective")
_ACCELERATOR = re.compile(r"device:(GPU|TPU):(\d{1,9})$")


@dataclass(frozen=True, slots=True)
class Launched:
    """Collectives that the host launched, in the order in which all their members had."""

    device: Ints
    step: Ints
    node: Ints
    name: Ints
    key: Ints


@dataclass(frozen=True, slots=True)
class Ran:
    """What the program's accelerators ran; one row per kernel, copy or instruction."""

    name: Ints
    node: Ints
    device: Ints
    category: Ints
    launched_ns: Ints
    """When the host launched it; -1 if unknown."""
    start_ns: Ints
    end_ns: Ints
    thread: Ints
    key: Ints
    is_collective: NDArray[np.bool_]
    """Which are whole collectives, as NCCL's kernels are."""
    bytes: Ints
    """Of the output of a collective; -1 if unknown."""

    def __len__(self) -> int:
        return len(self.node)


def is_accelerator(device: str) -> bool:
    return _ACCELERATOR.search(device) is not None


def ran_on_accelerators(
    columns: XSpaceColumns, graph: Graph, node_of: Ints, device_of: Ints, devices: Sequence[str]
) -> Ran | None:
    """Return what ran on the devices of the program; None without any.

    Args:
      columns: the capture.
      graph: the graph of its segment.
      node_of: the node by name, -1 if unknown.
      device_of: the device by node; the last entry is for -1.
      devices: the names of devices.
    """
    planes = {name: each for name, each in columns.device_events.items() if len(each)}
    if not planes:
        return None
    send_of, copies_on = _sends_of(planes, columns, graph), _copying_devices(graph, devices)
    # A send or a receive starts a copy that finds the other one waiting, whichever card makes it.
    is_end = [node.op in SENDS or node.op in RECEIVES for node in graph.nodes]
    node_of = np.where(np.asarray([*is_end, True])[node_of], -1, node_of)
    nodes, by_node = {}, {}
    for name, each in planes.items():
        copied = send_of[each.edge]
        nodes[name] = np.where(copied >= 0, copied, node_of[each.events.name])
        by_node[name] = np.where(copied >= 0, copies_on[copied], device_of[nodes[name]])
    placed = _placed(planes, by_node, devices)
    launches = columns.events(xspace.LAUNCH)
    parts = []
    for name, each in planes.items():
        events = each.events
        call = launching_calls(events.key, launches.key)
        is_op = (nodes[name] >= 0) & (send_of[each.edge] < 0)
        parts.append(
            Ran(
                np.where(is_op, events.name, each.ran),
                nodes[name],
                placed[name],
                each.category,
                np.where(call >= 0, np.append(launches.start_ns, -1)[call], -1),
                events.start_ns,
                events.end_ns,
                events.thread,
                np.full(len(each), -1, np.int64),
                _are_collectives(columns, each),
                each.bytes,
            )
        )
    return Ran(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in Ran.__slots__}
    )


def _are_collectives(columns: XSpaceColumns, executed: Executed) -> NDArray[np.bool_]:
    waits = [kernel_names.is_waiting_collective(name) for name in columns.names]
    is_one = np.asarray(waits, bool)[executed.ran]
    return np.asarray(is_one & (executed.category == _COLLECTIVE), bool)


def _placed(
    planes: Mapping[str, Executed], by_node: Mapping[str, Ints], devices: Sequence[str]
) -> dict[str, Ints]:
    """Return the index of the device of everything that each plane ran; -1 if unknown.

    `by_node` is the device of what ran for a node of the graph.
    """
    is_one = np.asarray([*map(is_accelerator, devices), False], bool)
    placed = {}
    for name, each in planes.items():
        own = np.where(is_one[by_node[name]], by_node[name], -1)
        known = np.unique(own[own >= 0])
        if len(known) == 1:
            own = np.full(len(each), known[0])
        elif len(known):
            own = _by_stream(own, each.events.thread)
        placed[name] = own
    claimed = {int(device) for own in placed.values() for device in np.unique(own)}
    free = [i for i in range(len(devices)) if is_one[i] and i not in claimed]
    unknown = sorted((name for name, own in placed.items() if (own < 0).all()), key=_number)
    for name, index in _by_order(unknown, free, devices).items():
        placed[name] = np.full(len(planes[name]), index)
    return placed


def _by_stream(device: Ints, stream: Ints) -> Ints:
    """Give what is of no known device the one device of its stream, if the stream has one."""
    devices = device.copy()
    for each in np.unique(stream).tolist():
        own = stream == each
        known = np.unique(device[own & (device >= 0)])
        if len(known) == 1:
            devices[own] = known[0]
    return devices


def _by_order(planes: Sequence[str], free: Sequence[int], devices: Sequence[str]) -> dict[str, int]:
    """Return the device of planes that tell none: in order if they are as many, else by number."""
    kinds = [[i for i in free if _kind(devices[i]) == _kind(plane)] for plane in planes]
    same = [i for i in free if planes and _kind(devices[i]) == _kind(planes[0])]
    if len(same) == len(planes) and all(kind == same for kind in kinds):
        return dict(zip(planes, same, strict=True))
    by_number = {
        plane: [i for i in kind if devices[i].endswith(f"device:{plane}")]
        for plane, kind in zip(planes, kinds, strict=True)
    }
    return {plane: indices[0] for plane, indices in by_number.items() if indices}


def _kind(device: str) -> str:
    return device.rpartition(":")[0].rpartition(":")[2]


def _number(plane: str) -> int:
    return int(plane.rpartition(":")[2])


def _sends_of(planes: Mapping[str, Executed], columns: XSpaceColumns, graph: Graph) -> Ints:
    """Return by name the send whose edge has it, -1 if none has, or sends of several devices."""
    sends: dict[str, Node | None] = {}
    for node in graph.nodes:
        if node.op in SENDS and node.tensor:
            known = sends.setdefault(node.tensor, node)
            if known and (known.device, known.recv_device) != (node.device, node.recv_device):
                sends[node.tensor] = None
    send_of = np.full(len(columns.names) + 1, -1, np.int64)
    for edge in {int(edge) for each in planes.values() for edge in np.unique(each.edge)} - {-1}:
        send = sends.get(columns.names[edge])
        send_of[edge] = send.index if send else -1
    return send_of


def _copying_devices(graph: Graph, devices: Sequence[str]) -> Ints:
    """Return by node the device that copies what it sends: the sender, unless that is the host."""
    index = {device: i for i, device in enumerate(devices)}
    ends = [
        node.send_device if is_accelerator(node.send_device or "") else node.recv_device
        for node in graph.nodes
    ]
    return np.asarray([*(index.get(end or "", -1) for end in ends), -1], np.int64)


def with_collectives(ran: Ran, step: Ints, launched: Launched) -> Ran:
    """Return what ran with node, name and key of the collectives that NCCL's kernels are.

    A step in which a device has not as many kernels as launches is left as it is.
    """
    node, name, key = ran.node.copy(), ran.name.copy(), ran.key.copy()
    kernels = np.flatnonzero(ran.is_collective & (step >= 0) & (ran.device >= 0))
    kernels = kernels[np.argsort(ran.start_ns[kernels], kind="stable")]
    for device, number in {
        (int(d), int(s)) for d, s in zip(ran.device[kernels], step[kernels], strict=True)
    }:
        own = kernels[(ran.device[kernels] == device) & (step[kernels] == number)]
        of = np.flatnonzero((launched.device == device) & (launched.step == number))
        if len(own) == len(of):
            node[own], name[own], key[own] = launched.node[of], launched.name[of], launched.key[of]
    columns = {each: getattr(ran, each) for each in Ran.__slots__}
    return Ran(**(columns | {"node": node, "name": name, "key": key}))


OUTRUN = 0.01
"""A kernel that ends later than this share of a step after its step outruns it."""


def own_steps(ran: Ran, step: Ints, begin_ns: Ints, end_ns: Ints) -> dict[int, tuple[Ints, Ints]]:
    """Return begin and end of the steps of devices that are still at work when a step has ended.

    Args:
      ran: what the devices ran.
      step: the step that launched each of them; -1 if unknown.
      begin_ns: when each step began on the host.
      end_ns: when each step ended on the host.
    """
    windows_of = {}
    usual = float(np.median(end_ns - begin_ns)) if len(begin_ns) else 0.0
    for device in np.unique(ran.device[ran.device >= 0]).tolist():
        own = np.flatnonzero((ran.device == device) & (step >= 0))
        if not (ran.end_ns[own] > end_ns[step[own]] + OUTRUN * usual).any():
            continue
        last_ns = int(end_ns[-1] - begin_ns[-1])
        windows = device_windows(
            step[own], ran.start_ns[own], ran.end_ns[own], len(begin_ns), last_ns
        )
        if windows is not None:
            windows_of[device] = windows
    return windows_of
