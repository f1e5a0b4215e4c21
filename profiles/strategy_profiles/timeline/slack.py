"""The slack of the op of a span: how much later it could end without a longer step.

Slack is that of `strategy_profiles.step_graph.critical_path`. A span is found in
the graph of the step by its name, its device and its start.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from strategy_profiles.capture.graph import RECEIVES
from strategy_profiles.errors import LabError
from strategy_profiles.predictors import error_of
from strategy_profiles.reporting import units
from strategy_profiles.step_graph.build import StepBuilder
from strategy_profiles.step_graph.critical_path import critical_path, slack_ns
from strategy_profiles.step_graph.graph import ENTER, HOST, StepGraph
from strategy_profiles.step_graph.recording import LEADER, ReplayError, read_rows
from strategy_profiles.tables.columns import Floats
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.critical_path import recording_of_step
from strategy_profiles.timeline.layout import Timeline, since_origin

_LEAST_NS = 500
"""A shorter slack counts as none: recorded times are read one after the other."""


@dataclass(frozen=True)
class StepSlack:
    """A captured step's graph, and the slack of its nodes."""

    graph: StepGraph
    begin_ns: int
    """Start of the step, in ns since the timeline's origin."""
    slack_ns: Floats
    on_path: frozenset[int]
    """Nodes on the critical path."""
    replay_error: float | None
    """Median error of the replay of the segment's steps; None if no package replays them."""
    by_start: dict[int, tuple[int, ...]]
    """Nodes by their start in ns."""


@dataclass(frozen=True, slots=True)
class SpanSlack:
    """The slack of one op."""

    slack_ns: int
    """How much later it could end; of a collective, how much later this replica could enter it."""
    is_on_path: bool
    replay_error: float | None
    sentence: str


def step_slack(profile: Profile, timeline: Timeline, step: int) -> StepSlack:
    """Return the slack of a captured step's ops.

    Raises ReplayError if the step is not captured or has no graph.
    """
    recording = recording_of_step(profile, timeline, step)
    segment = recording.segment.segment
    graph = StepBuilder(recording, read_rows(profile, segment, [step])).build(step)
    by_start: dict[int, list[int]] = defaultdict(list)
    for at, start in enumerate(graph.nodes.start_ns.tolist()):
        by_start[round(start)].append(at)
    return StepSlack(
        graph,
        since_origin(profile, timeline, step, recording.bounds[step][0]),
        slack_ns(graph),
        frozenset(piece.node for piece in critical_path(graph)),
        error_of(profile, segment),
        {start: tuple(nodes) for start, nodes in by_start.items()},
    )


def step_of_span(timeline: Timeline, row: int, start_ns: int) -> int:
    """Return the captured step of the span that starts there; raises ReplayError if it has none."""
    span = _span(timeline, row, start_ns)
    step = int(timeline.step[span])
    if step < 0:
        raise ReplayError("This op ran outside of the captured steps, so it delays none of them")
    return step


def slack_of(timeline: Timeline, known: StepSlack, row: int, start_ns: int) -> SpanSlack:
    """Return the slack of the op of the span that starts there.

    Args:
      known: of the span's step.

    Raises ReplayError, with the reason, if the graph of the step does not have the op.
    """
    span = _span(timeline, row, start_ns)
    track = next(each for each in timeline.tracks if row in each.rows)
    if track.worker != LEADER:
        raise ReplayError(
            f"The graph of a step has the ops of process {LEADER}, and of {track.title} only the "
            "length of each phase"
        )
    name, op = timeline.names[timeline.name[span]], timeline.ops[timeline.op[span]]
    at = _node(known, name, track.device, start_ns - known.begin_ns)
    if at is None:
        raise ReplayError(_why_no_node(op))
    nodes = known.graph.nodes
    if nodes.end_ns[at] > known.graph.wall_ns:
        raise ReplayError("The step was over before this op ended, so it did not wait for the op")
    slack = float(known.slack_ns[at])
    is_on_path = at in known.on_path
    if is_on_path or slack < _LEAST_NS:
        slack = 0.0
    if nodes.category[at] == ENTER:
        sentence = _of_collective(known, at, slack, is_on_path)
    else:
        sentence = _of_op(known, slack, is_on_path)
    return SpanSlack(round(slack), is_on_path, known.replay_error, sentence)


def _node(known: StepSlack, name: str, device: str, start: int) -> int | None:
    """Return the op's node; of a collective its entry, of what the host reads its request."""
    nodes = known.graph.nodes
    for at in known.by_start.get(start, ()):
        if nodes.name[at] == name and nodes.device[at] == device:
            return at
    inside = (nodes.start_ns <= start) & (start < nodes.end_ns)
    for at in np.flatnonzero(inside).tolist():
        if nodes.category[at] == HOST:
            return at
    return None


def _of_op(known: StepSlack, slack: float, is_on_path: bool) -> str:
    if is_on_path:
        return f"none: it is on the critical path of step {known.graph.step}"
    if not slack:
        return "none: a chain of ops with it takes as long as the critical path"
    return f"{_ms(slack)}: it could end that much later and the step would not be longer"


def _of_collective(known: StepSlack, enter: int, slack: float, is_on_path: bool) -> str:
    """All members leave a collective together, so only the entry is a replica's own."""
    if is_on_path:
        return f"none: this replica's entry is on the critical path of step {known.graph.step}"
    if not slack:
        return "none: the chain of ops to this entry takes as long as the critical path"
    leaves = known.on_path.intersection(known.graph.followers[enter])
    moved = "; the transfer is on the critical path" if leaves else ""
    return (
        f"{_ms(slack)}: this replica could enter that much later and the step would not be "
        f"longer{moved}"
    )


def _why_no_node(op: str) -> str:
    if op in RECEIVES:
        return "This is the wait for a tensor of another device and not an op of its own"
    return "The recorded graph of the step has no node for this op"


def _ms(length_ns: float) -> str:
    return units.milliseconds(length_ns / 1e6)


def _span(timeline: Timeline, row: int, start_ns: int) -> int:
    span = timeline.span_at(row, start_ns) if 0 <= row < timeline.num_rows else None
    if span is None:
        raise LabError("No op starts there: the run may have been recorded again")
    return span
