"""Explain a device's gaps: those that end with a receive, and those at the end of a call.

A gap is a time in which the device runs nothing. The op that ends it gives the reason. If that op
depends on receives, through nodes too small to record an event, the device waited for the receive
that completed last. Until the matching send begins, the sender is late (wait); from then on the
tensor is in transfer. Before the receive is issued and after it is done, the gap has another cause.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.capture.joined import Joined, Occurrences, OpEvents, Steps
from strategy_profiles.tables.columns import Ints


@dataclass(frozen=True, slots=True)
class GapIntervals:
    """Waits and transfers of one device around its receives, as parallel columns.

    `node` is the receive. `wait_from` and `wait_until` may have further entries at the end: waits
    without a receive.
    """

    node: Ints
    step: Ints
    wait_from: Ints
    wait_until: Ints
    transfer_from: Ints
    transfer_until: Ints

    def with_waits(self, starts: Ints, ends: Ints) -> GapIntervals:
        return GapIntervals(
            self.node,
            self.step,
            np.concatenate([self.wait_from, starts]),
            np.concatenate([self.wait_until, ends]),
            self.transfer_from,
            self.transfer_until,
        )


def receive_gaps(joined: Joined, mine: OpEvents, busy: Intervals, steps: Steps) -> GapIntervals:
    """Return the gaps of a device that end with an op that depends on a receive.

    `mine` are the device's events, ordered by start, `busy` is their union, `steps` are its steps.
    """
    # Parallel columns: a gap, and a receive that the op behind it depends on.
    gap, receive = _gaps_and_receives(joined, mine, busy)
    gap_end = busy.starts[gap]
    next_op = np.searchsorted(mine.start_ns, gap_end, side="left")
    step_start = steps.start_ns[mine.step[next_op]]
    gap_start = np.maximum(np.where(gap > 0, busy.ends[gap - 1], step_start), step_start)
    received = joined.received
    # Where the receive last completed before the gap's end; -1 if it did not.
    arrival = Occurrences(received.node, received.done_ns).last_until(receive, gap_end)
    done_ns = np.append(received.done_ns, np.iinfo(np.int64).min)  # -1 selects the last one
    # Of receives that completed within the gap, the last one ended it.
    keep = np.flatnonzero(done_ns[arrival] > gap_start)
    keep = keep[_last_of_each(gap[keep], received.done_ns[arrival[keep]])]
    arrival, receive, gap_start = arrival[keep], receive[keep], gap_start[keep]
    done, issued = received.done_ns[arrival], received.issued_ns[arrival]
    sent = _send_times(joined, receive, issued, done)
    wait_from = np.maximum(gap_start, issued)
    wait_until = np.clip(sent, wait_from, done)  # the transfer begins there
    step = mine.step[next_op[keep]]
    return GapIntervals(receive, step, wait_from, wait_until, wait_until, done)


def call_waits(joined: Joined, busy: Intervals, last_ends: Ints) -> tuple[Ints, Ints]:
    """Return waits from a device's last op in a call until the last op of any device in it.

    A function call returns when its slowest device is done, so all other devices wait for it.
    `last_ends` are the sorted ends of all devices' ops. If the capture has no call event, each
    step counts as one call.
    """
    calls, steps = joined.calls, joined.steps
    starts, ends = calls.start_ns, calls.end_ns
    if not len(calls):
        starts, ends = steps.start_ns, steps.end_ns
    inside = (steps.of(starts) >= 0) & ~busy.contains(ends)
    starts, ends = starts[inside], ends[inside]
    if not last_ends.size or not ends.size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    own = busy.last_end_before(ends, starts)
    last = last_ends[np.maximum(np.searchsorted(last_ends, ends, side="right") - 1, 0)]
    took_part = own > starts
    return own[took_part], np.maximum(last, own)[took_part]


def _gaps_and_receives(joined: Joined, mine: OpEvents, busy: Intervals) -> tuple[Ints, Ints]:
    """Return pairs of a gap and a receive on which its next op depends.

    A gap is identified by the index of the busy interval that ends it.
    """
    graph = joined.graph
    present = np.zeros(len(graph.nodes) + 1, bool)
    present[joined.ops.node] = True
    first = np.searchsorted(mine.start_ns, busy.starts, side="left")
    inside = first < len(mine)
    # A busy interval can begin with a collective; the collective is then the next op.
    node = np.where(inside, mine.node[np.minimum(first, len(mine) - 1)], -1)
    depends = {
        int(index): [
            receive.index
            for receive in graph.receives_before(
                graph.nodes[int(index)], lambda other: bool(present[other.index])
            )
        ]
        for index in np.unique(node[node >= 0])
    }
    count = np.zeros(len(graph.nodes) + 1, np.int64)
    for index, receives in depends.items():
        count[index] = len(receives)
    offset = np.zeros(len(graph.nodes) + 1, np.int64)
    flat: list[int] = []
    for index, receives in depends.items():
        offset[index] = len(flat)
        flat += receives
    each = count[node]
    gap = np.repeat(np.arange(len(node)), each)
    turn = np.arange(len(gap)) - np.repeat(np.cumsum(each) - each, each)
    return gap, np.asarray(flat or [0], np.int64)[offset[node[gap]] + turn]


def _last_of_each(group: Ints, time_ns: Ints) -> Ints:
    """Return the position of the latest member of each group."""
    order = np.lexsort((time_ns, group))
    ordered = group[order]
    last = np.concatenate((ordered[1:] != ordered[:-1], [True])) if len(order) else ordered
    positions: Ints = order[last.astype(bool)]
    return positions


def _send_times(joined: Joined, receive: Ints, issued: Ints, done: Ints) -> Ints:
    """Return when the send of each receive began, or when the receive was issued if unknown."""
    ops = joined.ops
    peer = {
        int(index): send.index
        for index in np.unique(receive)
        if (send := joined.graph.peer(joined.node(int(index)))) is not None
    }
    at = np.flatnonzero(joined.graph.is_send[ops.node])
    wanted = np.asarray([peer.get(int(index), -1) for index in receive], np.int64)
    last = Occurrences(ops.node[at], ops.start_ns[at]).last_until(wanted, done)
    return np.where(last >= 0, ops.start_ns[at[last]] if at.size else issued, issued)
