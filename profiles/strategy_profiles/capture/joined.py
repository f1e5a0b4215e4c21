"""Join events to the graph by node name: each op event gets its device, replica and step.

No event is dropped silently: an op event whose node is unknown, or whose name exists on several
devices, keeps its times and has no device. Both kinds are counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from strategy_profiles.capture import xspace
from strategy_profiles.capture.accelerators import (
    Launched,
    Ran,
    is_accelerator,
    own_steps,
    ran_on_accelerators,
    with_collectives,
)
from strategy_profiles.capture.graph import (
    CATEGORY_NAMES,
    RECEIVES,
    XLA_CALL,
    Graph,
    Node,
    category,
)
from strategy_profiles.capture.grouping import group_max, groups_by, rank_in_group
from strategy_profiles.capture.intervals import index_containing
from strategy_profiles.capture.step_calls import steps_of_calls
from strategy_profiles.capture.xspace import Events, XSpaceColumns
from strategy_profiles.tables.columns import Ints

COMPUTE, COLLECTIVE, TRANSFER, INPUT, WAIT, OTHER, DELAY = range(7)
FUNCTION = "__inference_"
"""How TensorFlow's names of traced functions begin."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The captured steps in order of time."""

    number: Ints
    start_ns: Ints
    end_ns: Ints

    def __len__(self) -> int:
        return len(self.number)

    def of(self, times: Ints) -> Ints:
        """Return the index of the step that contains each time, or -1."""
        return index_containing(self.start_ns, self.end_ns, times)


@dataclass(frozen=True, slots=True)
class OpEvents:
    """Op events with node, device and step; -1 means unknown."""

    name: Ints
    node: Ints
    device: Ints
    category: Ints
    step: Ints
    start_ns: Ints
    end_ns: Ints
    thread: Ints
    key: Ints
    on_device_clock: NDArray[np.bool_]
    bytes: Ints
    """Of the output of a collective that a kernel is."""

    def __len__(self) -> int:
        return len(self.node)


class Occurrences:
    """Times of nodes' events, for lookups of a node's event nearest to a time."""

    def __init__(self, node: Ints, time_ns: Ints) -> None:
        self._origin = int(time_ns.min()) if time_ns.size else 0
        self._span = (int(time_ns.max()) - self._origin if time_ns.size else 0) + 2
        key = node * self._span + (time_ns - self._origin) + 1
        self.order = np.argsort(key, kind="stable")
        self._key = key[self.order]
        self._node = node[self.order]

    def last_until(self, node: Ints, time_ns: Ints) -> Ints:
        """Return the index of each node's last event at or before the time, or -1."""
        if not self._key.size:
            return np.full(len(node), -1, np.int64)
        offset = np.clip(time_ns - self._origin + 1, 0, self._span - 1)
        at = np.searchsorted(self._key, node * self._span + offset, side="right") - 1
        is_known = (at >= 0) & (self._node[np.maximum(at, 0)] == node)
        return np.where(is_known, self.order[np.maximum(at, 0)], -1)

    def first_from(self, node: Ints, time_ns: Ints) -> Ints:
        """Return the index of each node's first event at or after the time, or -1."""
        if not self._key.size:
            return np.full(len(node), -1, np.int64)
        offset = np.clip(time_ns - self._origin + 1, 0, self._span - 1)
        at = np.searchsorted(self._key, node * self._span + offset, side="left")
        inside = np.minimum(at, len(self._key) - 1)
        is_known = (at < len(self._key)) & (self._node[inside] == node)
        late = time_ns - self._origin + 1 > self._span - 1
        return np.where(is_known & ~late, self.order[inside], -1)


@dataclass(frozen=True, slots=True)
class Received:
    """Receives: when each was issued and when its tensor had arrived."""

    node: Ints
    issued_ns: Ints
    done_ns: Ints


@dataclass(frozen=True, slots=True)
class Joined:
    """A capture joined with its graph."""

    columns: XSpaceColumns
    graph: Graph
    steps: Steps
    ops: OpEvents
    received: Received
    calls: Events
    host_inputs: Events
    devices: tuple[str, ...]
    num_unmatched: int
    """Op events whose node is in no traced graph (functions of tf.data, eager ops)."""
    num_ambiguous: int
    """Op events whose name belongs to nodes on several devices."""
    device_steps: Mapping[int, Steps] = field(default_factory=dict)
    """The steps of devices that run behind the host, by index."""
    ran: Ran | None = None
    """What the accelerators ran; None without one."""

    def node(self, index: int) -> Node:
        return self.graph.nodes[index]

    def steps_on(self, device: int) -> Steps:
        """Return the steps as a device runs them."""
        return self.device_steps.get(device, self.steps)

    @property
    def problems(self) -> tuple[str, ...]:
        """What the capture lacks; each continues a sentence."""
        unknown = [
            name.rpartition("device:")[2]
            for name in self.graph.replica_of
            if len(self.steps) and self.is_unknown(self.devices.index(name))
        ]
        lacks = f"TensorFlow's profiler recorded nothing that {' and '.join(unknown)} ran"
        said = [f"TensorFlow's profiler said: {text.rstrip('.')}" for text in self.columns.problems]
        return tuple([lacks] * bool(unknown) + said)

    def is_unknown(self, device: int) -> bool:
        """Return whether a device is an accelerator of which the capture has nothing."""
        if not is_accelerator(self.devices[device]):
            return False
        return not (self.ops.on_device_clock & (self.ops.device == device)).any()


def join(columns: XSpaceColumns, graph: Graph, calls: Mapping[int, int] | None = None) -> Joined:
    """Join a capture with the graph of its segment.

    `calls` has the number of steps of each annotated call, by its first step; without it, each
    annotation is one step.
    """
    known = [*graph.replica_devices, *graph.replica_of, *(node.device for node in graph.nodes)]
    devices = tuple(dict.fromkeys(known))
    device_index = {device: index for index, device in enumerate(devices)}
    node_of, ambiguous = _match_names(columns, graph)
    device_of = np.asarray([device_index[node.device] for node in graph.nodes] + [-1], np.int64)
    category_of = np.asarray(
        [
            CATEGORY_NAMES.index(category(name, op))
            for name, op in zip(columns.names, columns.ops, strict=True)
        ],
        dtype=np.int64,
    )
    host = columns.events(xspace.OP)
    eager = _eager_collectives(columns, host, category_of)
    steps = _steps(columns.events(xspace.STEP))
    if calls is not None:
        steps = Steps(*steps_of_calls(steps.number, steps.start_ns, steps.end_ns, calls, host))
    ops = _op_events(host, node_of, device_of, category_of, steps, eager)
    ops = _with_whole_functions(ops, columns, graph)
    ops = _with_compiled(ops, columns, graph, node_of, device_of, steps)
    ran = ran_on_accelerators(columns, graph, node_of, device_of, devices)
    device_steps: dict[int, Steps] = {}
    if ran is not None:
        ops, device_steps = _with_accelerators(ops, ran, steps, graph)
    unmatched = (ops.node < 0) & ~(ops.on_device_clock & (ops.device >= 0))
    num_ambiguous = int(np.count_nonzero(ambiguous[ops.name])) if len(ops) else 0
    return Joined(
        columns,
        graph,
        steps,
        ops,
        _received(columns, node_of),
        columns.events(xspace.CALL),
        columns.events(xspace.INPUT),
        devices,
        int(np.count_nonzero(unmatched)) - num_ambiguous,
        num_ambiguous,
        device_steps,
        ran,
    )


def _match_names(columns: XSpaceColumns, graph: Graph) -> tuple[Ints, NDArray[np.bool_]]:
    node_of = np.full(len(columns.names) + 1, -1, np.int64)
    ambiguous = np.zeros(len(columns.names) + 1, bool)
    for index, name in enumerate(columns.names):
        if name in graph.by_name and columns.ops[index]:
            node = graph.by_name[name]
            ambiguous[index] = node is None
            node_of[index] = -1 if node is None else node.index
    return node_of, ambiguous


def _steps(events: Events) -> Steps:
    """Return each step once, in order of start, from the step annotations of a capture."""
    order = np.argsort(events.start_ns, kind="stable")
    start, end, number = events.start_ns[order], events.end_ns[order], events.key[order]
    # Both the program and the recorder may annotate a step; keep the outer annotation.
    outer = np.ones(len(start), bool)
    if len(start) > 1:
        outer[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    number, start, end = number[outer], start[outer], end[outer]
    # A step that is abandoned because the data has ended starts again under the same number.
    last = np.ones(len(number), bool)
    last[:-1] = number[1:] != number[:-1]
    return Steps(number[last], start[last], end[last])


def _op_events(
    events: Events,
    node_of: Ints,
    device_of: Ints,
    category_of: Ints,
    steps: Steps,
    eager: NDArray[np.bool_],
) -> OpEvents:
    node = np.where(eager, -1, node_of[events.name])
    return OpEvents(
        events.name,
        node,
        device_of[node],
        category_of[events.name] if len(category_of) else events.name,
        steps.of(events.start_ns),
        events.start_ns,
        events.end_ns,
        events.thread,
        events.key,
        np.zeros(len(node), bool),
        np.full(len(node), -1, np.int64),
    )


def _eager_collectives(
    columns: XSpaceColumns, events: Events, category_of: Ints
) -> NDArray[np.bool_]:
    """Return which op events are collectives that the program called outside of functions.

    An eager op is named after its type, as the first op of that type in a graph is by default. The
    executor issues those of a graph, and marks when; eager ones have no such marks.
    """
    issued, done = columns.events(xspace.ISSUED), columns.events(xspace.DONE)
    eager = np.zeros(len(events), bool)
    if not len(issued) or not len(events):
        return eager
    at = np.flatnonzero(category_of[events.name] == COLLECTIVE)
    name, start_ns = events.name[at], events.start_ns[at]
    last = Occurrences(issued.name, issued.start_ns).last_until(name, start_ns)
    ends_ns: dict[tuple[int, int], int] = {}  # of a loop, after its last round
    for node, run, end_ns in zip(
        done.name.tolist(), done.key.tolist(), done.start_ns.tolist(), strict=True
    ):
        ends_ns[node, run] = max(end_ns, ends_ns.get((node, run), 0))
    for index, begun, began_ns in zip(at.tolist(), last.tolist(), start_ns.tolist(), strict=True):
        # Without a mark at its end, the window ended before it did.
        end_ns = ends_ns.get((int(issued.name[begun]), int(issued.key[begun])), began_ns)
        eager[index] = begun < 0 or end_ns < began_ns
    return eager


def _with_accelerators(
    ops: OpEvents, ran: Ran, steps: Steps, graph: Graph
) -> tuple[OpEvents, dict[int, Steps]]:
    """Replace launches by what the accelerators ran. Not tested on hardware.

    The host's events of a device that has a plane of its own only launch: of what computes, of
    collectives that are NCCL's kernels, and of sends whose copy is known. They get category
    `other`. Returns the steps of devices that run behind the host, too.
    """
    launched = np.where(ran.launched_ns >= 0, steps.of(ran.launched_ns), -1)
    own = {
        device: Steps(steps.number, *windows)
        for device, windows in own_steps(ran, launched, steps.start_ns, steps.end_ns).items()
    }
    step = np.where(ran.launched_ns >= 0, launched, steps.of(ran.start_ns))
    for device, windows in own.items():
        unknown = np.flatnonzero((ran.device == device) & (launched < 0))
        step[unknown] = windows.of(ran.start_ns[unknown])
    ran = with_collectives(ran, step, _launched_collectives(ops))
    category, node = ops.category.copy(), ops.node.copy()
    copied = np.isin(ops.node, np.unique(ran.node[ran.node >= 0])) & graph.is_send[ops.node]
    is_launch = (
        np.isin(ops.device, ran.device[ran.device >= 0]) & (ops.category == COMPUTE)
        | np.isin(ops.device, ran.device[ran.is_collective]) & (ops.category == COLLECTIVE)
        | copied
    )
    category[is_launch] = OTHER
    node[copied] = -1
    kernels = OpEvents(
        ran.name,
        ran.node,
        ran.device,
        ran.category,
        step,
        ran.start_ns,
        ran.end_ns,
        ran.thread,
        ran.key,
        np.ones(len(ran), bool),
        ran.bytes,
    )
    both = (replace(ops, category=category, node=node), kernels)
    columns = {
        name: np.concatenate([getattr(part, name) for part in both]) for name in OpEvents.__slots__
    }
    return OpEvents(**columns), own


def _launched_collectives(ops: OpEvents) -> Launched:
    """Return the collectives that the host launched, in the order in which all members had."""
    at = np.flatnonzero((ops.category == COLLECTIVE) & (ops.device >= 0) & (ops.step >= 0))
    step, device, key, start_ns = ops.step[at], ops.device[at], ops.key[at], ops.start_ns[at]
    rank = rank_in_group(groups_by(step, device, key), start_ns)
    group = groups_by(step, key, rank)
    order = np.lexsort((group, group_max(group, start_ns)))
    at = at[order]
    return Launched(ops.device[at], ops.step[at], ops.node[at], ops.name[at], ops.key[at])


def _with_whole_functions(ops: OpEvents, columns: XSpaceColumns, graph: Graph) -> OpEvents:
    """Give functions that XLA compiled as a whole to the only replica.

    Of a function with `jit_compile=True` that the program calls itself, TensorFlow has no graph. It
    runs as a single op, whose type is the function's name, as no other op's is.
    """
    if graph.nodes or len(graph.replica_devices) != 1 or not len(ops):
        return ops
    named = zip(columns.names, columns.ops, strict=True)
    is_whole = np.asarray([name == op and op.startswith(FUNCTION) for name, op in named])
    return replace(ops, device=np.where(is_whole[ops.name], 0, ops.device))


def _with_compiled(
    ops: OpEvents,
    columns: XSpaceColumns,
    graph: Graph,
    node_of: Ints,
    device_of: Ints,
    steps: Steps,
) -> OpEvents:
    """Add the calls that XLA compiled as ops that compute, from their launch to their end.

    XLA's kernels run on its own threads, under names that no graph has. The call is an asynchronous
    op, which the executor marks like a receive.
    """
    compiled = np.asarray([node.op == XLA_CALL for node in graph.nodes] + [False])
    name, start_ns, end_ns = _issued_to_done(columns, compiled[node_of])
    if not len(name):
        return ops
    unknown = np.full(len(name), -1, np.int64)
    added = {
        "name": name,
        "node": node_of[name],
        "device": device_of[node_of[name]],
        "category": np.full(len(name), COMPUTE, np.int64),
        "step": steps.of(start_ns),
        "start_ns": start_ns,
        "end_ns": end_ns,
        "thread": unknown,
        "key": unknown,
        "on_device_clock": np.zeros(len(name), bool),
        "bytes": unknown,
    }
    return OpEvents(
        **{key: np.concatenate([getattr(ops, key), column]) for key, column in added.items()}
    )


def _received(columns: XSpaceColumns, node_of: Ints) -> Received:
    """Return the receives of the graph."""
    is_receive = np.asarray([op in RECEIVES for op in columns.ops] + [False])
    name, issued_ns, done_ns = _issued_to_done(columns, is_receive & (node_of >= 0))
    return Received(node_of[name], issued_ns, done_ns)


def _issued_to_done(columns: XSpaceColumns, wanted: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """Pair the executor's start and done events of asynchronous ops: names, starts, ends.

    A pair has the same node, the same execution (step id) and the same position among them.
    `wanted` says which names are paired.
    """
    issued, done = columns.events(xspace.ISSUED), columns.events(xspace.DONE)
    issued = issued.take(np.flatnonzero(wanted[issued.name]))
    done = done.take(np.flatnonzero(wanted[done.name]))
    label = groups_by(
        np.concatenate([issued.name, done.name]), np.concatenate([issued.key, done.key])
    )
    first, second = label[: len(issued)], label[len(issued) :]
    left, right = _match_ranks(first, issued.start_ns, second, done.start_ns)
    return issued.name[left], issued.start_ns[left], done.start_ns[right]


def _match_ranks(first: Ints, first_ns: Ints, second: Ints, second_ns: Ints) -> tuple[Ints, Ints]:
    """Return pairs of positions with equal label and equal rank in time within that label.

    The n-th event of a label on one side belongs to the n-th on the other. Label and rank are one
    integer, so that a single intersection finds all pairs.
    """
    most = len(first) + len(second) + 1
    _common, left, right = np.intersect1d(
        first * most + rank_in_group(first, first_ns),
        second * most + rank_in_group(second, second_ns),
        assume_unique=True,
        return_indices=True,
    )
    return left, right
