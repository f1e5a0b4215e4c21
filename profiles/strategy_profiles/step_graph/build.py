"""Makes the graph of a captured step from a segment's recording.

What a node waits for: its inputs in the recorded graph, the op before it on its thread, and, for a
device's first op in a call and for what takes a batch inside of it, the host. An edge that the
recorded times contradict is dropped and counted.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from strategy_profiles.capture.graph import INPUT_OPS, RECEIVES, SENDS, Graph, Node
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.step_graph.graph import (
    END,
    END_GAP,
    ENTER,
    ENTRY,
    HOST,
    INLINE,
    NO_GAP,
    SMALL_BYTES,
    WAKE,
    Nodes,
    StepGraph,
)
from strategy_profiles.step_graph.host_events import (
    Returned,
    input_times,
    last_request,
)
from strategy_profiles.step_graph.recording import LEADER, Recording, StepRows
from strategy_profiles.step_graph.step_event import Event, demand_of
from strategy_profiles.step_graph.timed_events import mean_demand, phases_ns, timed_events
from strategy_profiles.tables.columns import floats, ints, texts
from strategy_profiles.tables.schema import ESTIMATED

_BACK_EDGE = "NextIteration"
"""Ends an iteration of a loop: what it feeds belongs to the next one."""


def dependencies(graph: Graph, with_events: Collection[int]) -> dict[int, tuple[int, ...]]:
    """Return the nodes each node with events waits for, by index; receives count as having events.

    A receive waits for its send on the other device.
    """
    known = set(with_events)
    before: dict[int, tuple[int, ...]] = {}
    for node in graph.nodes:
        if node.op in RECEIVES:
            send = graph.peer(node)
            before[node.index] = () if send is None else (send.index,)
        elif node.index in known:
            before[node.index] = _through(graph, node, known)
    return before


def _through(graph: Graph, node: Node, known: set[int]) -> tuple[int, ...]:
    """Return the nearest ancestors with events."""
    before: list[int] = []
    seen, stack = {node.index}, [node]
    while stack:
        for producer in graph.producers(stack.pop()):
            if producer.index in seen or producer.op == _BACK_EDGE:
                continue
            seen.add(producer.index)
            if producer.index in known or producer.op in RECEIVES:
                before.append(producer.index)
            else:
                stack.append(producer)
    return tuple(before)


_TIMED_BY = ("measured", ESTIMATED)
"""Sources of a collective that is an op of its own; a derived one consists of other ops."""
_NEAR_NS = 2_000
"""Times of different threads are read one after the other: what ends so long after a node starts
may still have been waited for, and then its end is set to that start."""


class StepBuilder:
    """Builds the graphs of steps of a segment; what they share is computed once."""

    def __init__(self, recording: Recording, rows: StepRows) -> None:
        """Build steps of which `rows` has the rows (`read_rows`)."""
        self._recording = recording
        self._rows = rows
        self._node_of = recording.node_of
        recorded = {
            key
            for spans in rows["spans"].values()
            for key in zip(texts(spans, "device"), texts(spans, "name"), strict=True)
        }
        with_events = {node.index for key, node in self._node_of.items() if key in recorded}
        nodes = recording.graph.nodes
        self._reads = {node.index for node in nodes if node.op in INPUT_OPS}
        self._before = dependencies(recording.graph, with_events | self._reads)

    def build(self, step: int) -> StepGraph:
        """Return the graph of a captured step."""
        begin, until = self._recording.bounds[step]
        spans = self._rows["spans"].get(step)
        host: list[Event] = []
        ops: list[Event] = []
        if spans is not None:
            taken, host = input_times(spans, begin, until)
            ops = self._op_events(spans, begin, taken)
        received = self._receives(step, begin, ops)
        timed = self._recording.timed.get(step, ())
        elsewhere = [each for each in timed if each.worker != LEADER]
        phases = timed_events(elsewhere, begin)
        members, exits = self._collectives(step, begin, phases)
        events = [*host, *ops, *received, *members, *exits]
        self._connect(events, host)
        cores = self._recording.cores
        demand = mean_demand(ops, members, cores) if self._recording.do_share_cores else 0.0
        for event in phases:
            event.demand = demand if event.category == "compute" else 0.0
        everything = sorted([*phases, *events], key=lambda event: (event.start, event.end))
        graph = _graph(
            self._recording.segment.segment, step, float(until - begin), everything, cores
        )
        return replace(
            graph,
            phases_ns={each.replica: phases_ns(each) for each in timed},
            timed=frozenset(each.replica for each in elsewhere),
        )

    def _op_events(self, spans: pa.Table, begin: int, taken: Intervals) -> list[Event]:
        """Return the ops that the step's functions ran; those of the input belong to it.

        Args:
          taken: when the host itself takes batches.
        """
        starts = ints(spans, "start_ns") - begin
        inside = taken.contains(starts).tolist()
        columns = (
            starts.tolist(),
            ints(spans, "duration_ns").tolist(),
            texts(spans, "op"),
            texts(spans, "name"),
            texts(spans, "category"),
            ints(spans, "replica").tolist(),
            texts(spans, "device"),
            ints(spans, "thread").tolist(),
            inside,
        )
        events = []
        for start, length, op, name, category, replica, device, thread, is_input in zip(
            *columns, strict=True
        ):
            node = self._node_of.get((device, name)) if device and name else None
            if node is None or is_input or category == "collective":
                continue
            events.append(
                Event(
                    start,
                    start + length,
                    op or "",
                    name,
                    category or "other",
                    replica,
                    device,
                    thread,
                    bytes=_output_bytes(node),
                    node=node.index,
                    function=node.function,
                )
            )
        return events

    def _receives(self, step: int, begin: int, ops: list[Event]) -> list[Event]:
        """Return a node per tensor that reached another device: from its send to its arrival."""
        rows = self._rows["transfers"].get(step)
        if rows is None:
            return []
        graph = self._recording.graph
        sends = {(e.device, e.start): e for e in ops if graph.nodes[e.node].op in SENDS}
        columns = (
            (ints(rows, "start_ns") - begin).tolist(),
            floats(rows, "duration_ms").tolist(),
            texts(rows, "send_device"),
            floats(rows, "bytes").tolist(),
        )
        receives = []
        for start, took_ms, device, size in zip(*columns, strict=True):
            send = sends.get((device or "", start))
            peer = graph.peer(graph.nodes[send.node]) if send else None
            if send is None or peer is None:
                continue
            arrived = max(start + (0.0 if math.isnan(took_ms) else took_ms) * 1e6, send.end)
            replica = graph.replica_of.get(peer.device, -1)
            receives.append(_receive(peer, send.end, arrived, replica, size))
        return receives

    def _collectives(
        self, step: int, begin: int, timed: Sequence[Event]
    ) -> tuple[list[Event], list[Event]]:
        """Return the entries of all members and their exits.

        All-reduces of gradients over several workers wait for the gradients of the `timed` ones.
        """
        rows = self._rows["collectives"].get(step)
        if rows is None:
            return [], []
        columns = (
            (ints(rows, "start_ns") - begin).tolist(),
            floats(rows, "wait_ms").tolist(),
            floats(rows, "transfer_ms").tolist(),
            ints(rows, "instance").tolist(),
            texts(rows, "device"),
            texts(rows, "name"),
            texts(rows, "op"),
            ints(rows, "replica").tolist(),
            floats(rows, "bytes").tolist(),
            texts(rows, "source"),
            ints(rows, "group_size").tolist(),
        )
        entered = [event for event in timed if event.category == ENTER]
        turns: dict[tuple[str, int], int] = defaultdict(int)
        groups: dict[tuple[int, int, int], list[tuple[Event, Event]]] = defaultdict(list)
        for start, wait, transfer, instance, device, name, op, replica, size, source, ranks in zip(
            *columns, strict=True
        ):
            node = self._node_of.get((device or "", name or ""))
            if source not in _TIMED_BY or node is None or math.isnan(wait + transfer):
                continue
            turn = turns[device or "", instance]
            turns[device or "", instance] += 1
            own = (op or "", name or "")
            enter = Event(start, start, *own, ENTER, replica, device or "", bytes=size)
            enter.node, enter.function = node.index, node.function
            all_there = start + wait * 1e6
            leave = Event(
                all_there, all_there + transfer * 1e6, *own, "collective", replica, device or ""
            )
            leave.bytes, leave.launch, leave.node = size, NO_GAP, node.index
            leave.function = node.function
            groups[instance, turn, ranks].append((enter, leave))
        for (_, _, ranks), pairs in groups.items():
            entries = [enter for enter, _ in pairs]
            if ranks > len(pairs) and max(enter.bytes for enter in entries) > SMALL_BYTES:
                entries += entered
            there = max(enter.start for enter in entries)
            for _, leave in pairs:
                # The end is what is recorded; ranks of one group agree on when all were there.
                leave.start, leave.before = there, entries
                leave.end = max(leave.end, there)
        flat = [pair for pairs in groups.values() for pair in pairs]
        return [enter for enter, _ in flat], [leave for _, leave in flat]

    def _connect(self, events: list[Event], host: list[Event]) -> None:
        events.sort(key=lambda event: (event.start, event.end))
        latest: dict[int, Event] = {}
        last_on_thread: dict[tuple[int, str], Event] = {}
        first_of: dict[tuple[int, str], Event] = {}
        last_of: dict[int, Event] = {}
        returned = Returned(events, bool(self._reads))
        for event in events:
            if event.category == HOST:
                ends = returned.at(event.start)
                event.before += ends
                for function in {each.function for each in ends}:  # another call may follow
                    for key in [each for each in first_of if each[0] == function]:
                        del first_of[key]
                continue
            if event.category != "collective":
                awaited = self._before.get(event.node, ())
                event.before += [latest[each] for each in awaited if each in latest]
                if any(each in self._reads and each not in latest for each in awaited):
                    # The read of a batch inside the step is one of the host's requests.
                    event.before += last_request(host, event.start)
                key = (event.function, event.device)
                if key not in first_of and event.launch == WAKE:
                    first_of[key], event.launch = event, ENTRY
                    event.before += last_request(host, event.start)
                    if event.function not in last_of:
                        event.before += [
                            last
                            for function, last in last_of.items()
                            if last.end <= event.start and function != event.function
                        ]
                elif first := first_of.get(key):
                    event.before.append(first)
            if event.thread > 0:
                before = last_on_thread.get((event.thread, event.device))
                if before is not None and before.end <= event.start + _NEAR_NS:
                    event.before.append(before)
                    if event.launch == WAKE and _is_last(before, event.before):
                        event.launch = INLINE
                last_on_thread[event.thread, event.device] = event
            returned.add(event)
            if event.category != ENTER:
                latest[event.node] = event
                known = last_of.get(event.function)
                if known is None or event.end > known.end:
                    last_of[event.function] = event


def _is_last(before: Event, every: list[Event]) -> bool:
    return before.end >= max(each.end for each in every)


def _output_bytes(node: Node) -> float:
    return math.nan if node.bytes is None or node.op in SENDS else float(node.bytes)


def _receive(peer: Node, sent: float, arrived: float, replica: int, size: float) -> Event:
    return Event(
        sent,
        arrived,
        peer.op,
        peer.name,
        "transfer",
        replica,
        peer.device,
        launch=NO_GAP,
        bytes=size,
        node=peer.index,
        function=peer.function,
    )


def _could_wait(event: Event, before: Event) -> bool:
    """Return whether the recorded times allow that `event` waited for `before`.

    A collective's recorded end includes its callbacks: what takes its result may start earlier.
    """
    ready = before.start if before.category == "collective" else before.end
    return before.at < event.at and ready <= event.start + _NEAR_NS


def _graph(segment: int, step: int, wall_ns: float, events: list[Event], cores: float) -> StepGraph:
    for at, event in enumerate(events):
        event.at = at
    end = Event(wall_ns, wall_ns, END, END, HOST, launch=END_GAP, at=len(events))
    waits_for, dropped = [], 0
    for event in events:
        kept = {each.at: each for each in event.before if _could_wait(event, each)}
        dropped += len({each.at for each in event.before}) - len(kept)
        waits_for.append(tuple(sorted(kept)))
        for each in kept.values():
            each.end = min(each.end, event.start)
    # What runs on after the host saw the step's end was not waited for.
    in_time = [each for each in events if _could_wait(end, each)]
    awaited = {before for each in in_time for before in waits_for[each.at]}
    waits_for.append(tuple(each.at for each in in_time if each.at not in awaited))
    for each in in_time:
        each.start, each.end = min(each.start, wall_ns), min(each.end, wall_ns)
    everything = [*events, end]
    nodes = Nodes(
        np.array([event.start for event in everything], np.float64),
        np.array([event.end for event in everything], np.float64),
        [event.op for event in everything],
        [event.name for event in everything],
        [event.category for event in everything],
        np.array([event.replica for event in everything], np.int64),
        [event.device for event in everything],
        np.array([event.thread for event in everything], np.int64),
        np.array([demand_of(event, cores) for event in everything], np.float64),
        np.array([event.launch for event in everything], np.int64),
        np.array([event.bytes for event in everything], np.float64),
    )
    return StepGraph(segment, step, wall_ns, nodes, tuple(waits_for), dropped)
