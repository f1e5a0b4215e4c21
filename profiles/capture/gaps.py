"""Why a device paused: gaps that end with a receive, and gaps at the end of a call.

A gap is a time in which nothing of the device ran. Its next op tells what it was about: if that op
depends on receives, through nodes too small to leave an event, then the last of them to arrive is
what the device had been waiting for. Until its send began the sender was late (wait); from then on
the tensor was under way (transfer). Before the receive was issued, and after it was done, the
device was held up by something else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strategy_lab.profiles.capture.intervals import Intervals
from strategy_lab.profiles.capture.joined import Joined, Occurrences, OpEvents

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class GapIntervals:
    """Waits and transfers of one device around its receives (parallel columns), then other waits.

    `node` is the receive's; `wait_from` and `wait_until` may be longer, by waits without a receive.
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


def receive_gaps(joined: Joined, mine: OpEvents, busy: Intervals) -> GapIntervals:
    """Gaps of a device whose next op depends on a receive; `mine` is in order of start."""
    gap, receive = _gaps_and_receives(joined, mine, busy)
    ender = np.searchsorted(mine.start_ns, busy.starts[gap], side="left")
    gap_end = busy.starts[gap]
    begun = joined.steps.start_ns[mine.step[ender]]
    gap_start = np.maximum(np.where(gap > 0, busy.ends[gap - 1], begun), begun)
    received = joined.received
    arrival = Occurrences(received.node, received.done_ns).last_until(receive, gap_end)
    done_ns = np.append(received.done_ns, np.iinfo(np.int64).min)  # -1, never, picks the last
    keep = np.flatnonzero(done_ns[arrival] > gap_start)
    keep = keep[_last_of_each(gap[keep], received.done_ns[arrival[keep]])]
    arrival, receive, gap_start = arrival[keep], receive[keep], gap_start[keep]
    done, issued = received.done_ns[arrival], received.issued_ns[arrival]
    sent = _send_times(joined, receive, issued, done)
    waiting = np.maximum(gap_start, issued)
    moving = np.clip(sent, waiting, done)
    return GapIntervals(receive, mine.step[ender[keep]], waiting, moving, moving, done)


def call_waits(joined: Joined, busy: Intervals, last_ends: Ints) -> tuple[Ints, Ints]:
    """From a device's last op in a call until the last op of any device in it.

    A call of a function returns when its slowest device is done, and so everybody waits for it.
    `last_ends` are the ends of all devices' ops in order. Steps without a call event count whole.
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
    """Pairs of a gap (by the busy interval that ends it) and a receive its next op depends on."""
    graph = joined.graph
    present = np.zeros(len(graph.nodes) + 1, bool)
    present[joined.ops.node] = True
    first = np.searchsorted(mine.start_ns, busy.starts, side="left")
    inside = first < len(mine)
    # A busy interval may begin with a collective's own interval: then that is its next op, too.
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
    """Positions of the latest member of each group."""
    order = np.lexsort((time_ns, group))
    ordered = group[order]
    last = np.concatenate((ordered[1:] != ordered[:-1], [True])) if len(order) else ordered
    positions: Ints = order[last.astype(bool)]
    return positions


def _send_times(joined: Joined, receive: Ints, issued: Ints, done: Ints) -> Ints:
    """When each receive's send began; where it left no event, when the receive was issued."""
    ops = joined.ops
    peer = {
        int(index): send.index
        for index in np.unique(receive)
        if (send := joined.graph.peer(joined.node(int(index)))) is not None
    }
    at = np.flatnonzero(joined.graph.is_send[ops.node])
    wanted = np.asarray([peer.get(int(index), -1) for index in receive], np.int64)
    found = Occurrences(ops.node[at], ops.start_ns[at]).last_until(wanted, done)
    return np.where(found >= 0, ops.start_ns[at[found]] if at.size else issued, issued)
