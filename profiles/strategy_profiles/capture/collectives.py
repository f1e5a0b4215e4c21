"""The collectives of the captured steps.

They are measured if the runtime has an op for them, and derived if a reduction consists of sends,
receives and an `AddN`.

`wait_r = max_q(start_q) - start_r`, `transfer_r = end_r - max_q(start_q)`, both clamped at 0, over
the members q of one execution. `algbw = S / transfer`, `busbw = algbw * f` with nccl-tests' f
(doc/PERFORMANCE.md): 2(n-1)/n for all-reduce, (n-1)/n for reduce-scatter, all-gather and
all-to-all, 1 for broadcast and reduce.

The event of a member can be missing in the last step of a capture: its collective tells the step
that it is done before its event is complete, and on a busy machine the capture ends in between. The
recorder waits for it for a moment (`recorder/window.py`); captures of other programs may lack it.
When this member started is then estimated (`_all_started`). Without that, the last one of the
others counted as the last, and their wait for a late replica as transfer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from strategy_profiles.capture.graph import COLLECTIVES
from strategy_profiles.capture.grouping import group_max, groups_by, rank_in_group
from strategy_profiles.capture.joined import COLLECTIVE, Joined
from strategy_profiles.capture.kernel_names import collective_of
from strategy_profiles.capture.reductions import Reduction, find_reductions
from strategy_profiles.tables.columns import Ints

_WITHOUT_PEERS = "/job:localhost/"
"""Devices of a process that belongs to no cluster."""


@dataclass(frozen=True, slots=True)
class CollectiveRows:
    """One row per execution and member."""

    node: Ints
    """-1 of a kernel whose launch is unknown."""
    device: Ints
    step: Ints
    instance: Ints
    group_size: Ints
    bytes: Ints
    """-1 where unknown."""
    start_ns: Ints
    all_started_ns: Ints
    """When the last member starts: wait ends and transfer begins. An estimate if the event of a
    member is missing."""
    end_ns: Ints
    is_whole: NDArray[np.bool_]
    """False where the event of a member is missing and `all_started_ns` is an estimate."""
    op: list[str]
    source: str
    """Of the rows that are whole."""

    def __len__(self) -> int:
        return len(self.node)

    @property
    def wait_ns(self) -> Ints:
        return np.maximum(np.minimum(self.all_started_ns, self.end_ns) - self.start_ns, 0)

    @property
    def transfer_ns(self) -> Ints:
        return np.maximum(self.end_ns - np.maximum(self.all_started_ns, self.start_ns), 0)


def measured(joined: Joined) -> CollectiveRows:
    """Return the executions of collective ops, joined across replicas by instance key and step."""
    ops = joined.ops
    at = np.flatnonzero((ops.category == COLLECTIVE) & (ops.device >= 0) & (ops.step >= 0))
    node, device, step, key = ops.node[at], ops.device[at], ops.step[at], ops.key[at]
    names = [joined.node(int(index)) if index >= 0 else None for index in node]
    kinds = [
        COLLECTIVES[n.op] if n else collective_of(joined.columns.names[name]) or "collective"
        for n, name in zip(names, ops.name[at].tolist(), strict=True)
    ]
    # Without an instance key, a member's ops are matched by their order within the step.
    rank = rank_in_group(groups_by(step, device, key), ops.start_ns[at])
    group = groups_by(step, key, rank)
    size = np.bincount(group)[group] if len(group) else group
    declared = np.asarray([(n.group_size or 0) if n else 0 for n in names], np.int64)
    size = np.maximum(size, declared)
    total = np.asarray([n.bytes if n and n.bytes is not None else -1 for n in names], np.int64)
    is_whole = _is_whole(joined, node, group, declared)
    # A receiver of a broadcast may start after another one has all of it.
    is_whole |= np.asarray([kind == "broadcast" for kind in kinds], bool)
    gathered = np.asarray([kind == "all-gather" for kind in kinds], bool)
    total = np.where(gathered & (total >= 0), total * size, total)
    # NCCL's kernel has the bytes of its output, a share of those that a reduce-scatter reduces.
    scattered = np.asarray([kind == "reduce-scatter" for kind in kinds], bool)
    output = ops.bytes[at]
    total = np.where(output >= 0, np.where(scattered, output * size, output), total)
    return CollectiveRows(
        node,
        device,
        step,
        key,
        size,
        total,
        ops.start_ns[at],
        _all_started(node, group, ops.start_ns[at], ops.end_ns[at], is_whole),
        ops.end_ns[at],
        is_whole,
        kinds,
        "measured",
    )


def _is_whole(joined: Joined, node: Ints, group: Ints, declared: Ints) -> NDArray[np.bool_]:
    """Whether all members of a row's execution have events, of those in this process.

    In a process without peers they are as many as the graph declares. In a cluster, where some may
    be elsewhere, they are as many as in any other execution of the same node.
    """
    if not len(node):
        return np.ones(0, bool)
    num_ranks = np.bincount(group)[group]
    of_node = group_max(groups_by(node), num_ranks)
    devices = {each.device for each in joined.graph.nodes if each.op in COLLECTIVES}
    has_peers = not all(device.startswith(_WITHOUT_PEERS) for device in devices)
    all_here = (declared > 0) & (declared <= len(devices)) & (not has_peers)
    expected = np.where(all_here, declared, of_node)
    return num_ranks >= group_max(group, expected)


def _all_started(
    node: Ints, group: Ints, start_ns: Ints, end_ns: Ints, is_whole: NDArray[np.bool_]
) -> Ints:
    """When the last member of each row's execution started.

    If a member's event is missing, it may be the last one. No member ends before all have started,
    so the first one that ends bounds it: a usual transfer before that, or that end if no execution
    is whole.
    """
    latest = group_max(group, start_ns)
    if is_whole.all():
        return latest
    usual = np.zeros(len(node), np.int64)
    for each in np.unique(node[~is_whole]):
        whole = is_whole & (node == each)
        if whole.any():
            usual[node == each] = np.median(np.maximum(end_ns - latest, 0)[whole])
    first_begun = -group_max(group, usual - end_ns)
    return np.where(is_whole, latest, np.maximum(latest, first_begun))


def derived(joined: Joined) -> CollectiveRows:
    """Return reductions that consist of sends and receives, as the equivalent collectives."""
    parts = []
    times = _NodeTimes(joined)
    for number, reduction in enumerate(find_reductions(joined.graph, times.has_event)):
        parts.extend(_executions(joined, reduction, number, times))
    return _stack(parts)


class _NodeTimes:
    """Times of a node's first event in each step, computed on request; -1 without an event."""

    def __init__(self, joined: Joined) -> None:
        self._joined = joined
        self._num_steps = len(joined.steps)
        ops, received = joined.ops, joined.received
        self._present = np.zeros(len(joined.graph.nodes) + 1, bool)
        self._present[ops.node] = True
        self._present[-1] = False
        self._ops = _by_node(ops.node, ops.step, ops.start_ns, ops.end_ns)
        step = joined.steps.of(received.done_ns)
        self._received = _by_node(received.node, step, received.issued_ns, received.done_ns)

    def has_event(self, node: Any) -> bool:
        return bool(self._present[node.index])

    def start_of(self, node: int) -> Ints:
        return self._first_of(self._ops, node, self._ops.start_ns)

    def end_of(self, node: int) -> Ints:
        return self._first_of(self._ops, node, self._ops.end_ns)

    def received_at(self, node: int) -> Ints:
        return self._first_of(self._received, node, self._received.end_ns)

    def _first_of(self, events: _EventsByNode, node: int, times_ns: Ints) -> Ints:
        """Return the time of a node's first event in each step; -1 in a step without one."""
        first_ns = np.full(self._num_steps, -1, np.int64)
        begin, end = np.searchsorted(events.node, [node, node + 1])
        steps = events.step[begin:end]
        inside = steps >= 0
        # Reversed, so that the first event of a step is written last and is kept.
        first_ns[steps[inside][::-1]] = times_ns[begin:end][inside][::-1]
        return first_ns


class _EventsByNode(NamedTuple):
    """Events in the order of their nodes, those of a node in the order of their start."""

    node: Ints
    step: Ints
    start_ns: Ints
    end_ns: Ints


def _by_node(node: Ints, step: Ints, start_ns: Ints, end_ns: Ints) -> _EventsByNode:
    order = np.lexsort((start_ns, node))
    return _EventsByNode(node[order], step[order], start_ns[order], end_ns[order])


def _executions(
    joined: Joined, reduction: Reduction, number: int, times: _NodeTimes
) -> list[CollectiveRows]:
    """Return the reduction in every captured step in which all of its members have events."""
    device_of = {device: index for index, device in enumerate(joined.devices)}
    starts: dict[str, Ints] = {}
    for device, contribution in reduction.contributions.items():
        at = [times.start_of(n) for n in contribution.sends]
        at += [times.end_of(n) for n in contribution.producers]
        starts[device] = np.max(at, axis=0) if at else times.start_of(reduction.node)
    seen = np.all([start >= 0 for start in starts.values()], axis=0)
    all_started = np.max(list(starts.values()), axis=0)
    rows = []
    for device, start in starts.items():
        is_local = device == reduction.device or device not in reduction.results
        end = (
            times.end_of(reduction.node)
            if is_local
            else times.received_at(reduction.results[device])
        )
        steps = np.flatnonzero(seen & (end >= 0))
        same = np.ones(len(steps), np.int64)
        rows.append(
            CollectiveRows(
                same * reduction.node,
                same * device_of[device],
                steps,
                same * -(number + 1),
                same * len(starts),
                same * (-1 if reduction.bytes is None else reduction.bytes),
                start[steps],
                all_started[steps],
                end[steps],
                np.ones(len(steps), bool),
                [reduction.op] * len(steps),
                "derived",
            )
        )
    return rows


def _stack(parts: list[CollectiveRows]) -> CollectiveRows:
    none = np.zeros(0, np.int64)
    columns = {
        name: np.concatenate([none, *(getattr(part, name) for part in parts)])
        for name in CollectiveRows.__slots__
        if name not in ("op", "source")
    }
    return CollectiveRows(**columns, op=[op for part in parts for op in part.op], source="derived")
