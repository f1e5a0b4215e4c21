"""What a segment's captures recorded of its steps' graphs, or why there is no graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from strategy_profiles.analysis.causes import held_up
from strategy_profiles.analysis.graph_file import graph_file
from strategy_profiles.analysis.no_capture import LOST
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.capture.graph import RECEIVES, Graph, Node, read_graph
from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.reporting import units
from strategy_profiles.run.events import SegmentOpened, WindowCaptured
from strategy_profiles.run.topology import has_servers
from strategy_profiles.step_graph.timed_replicas import Timed, timed_replicas
from strategy_profiles.tables.columns import floats, ints, is_one_of, of_segment
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile, once

LEADER = 0
"""The worker whose ops are recorded."""
FEWEST_STEPS = 3
"""A launch gap comes from other steps than the replayed one: two of them, at least."""
_CAPTURE_MORE = (
    "Record the run again with “Capture every step in full” (under New run; "
    "--set capture.every_step=true)"
)
_TRACE_MORE = "Record the program again with --set capture.every_step=true"
_TRAIN_LONGER = (
    "Record the run again with 10 steps or more: it captured every step that it could, and none is "
    "captured while the program traces and warms up"
)
_ANY_STEP = "Run it again, and let it do some steps"
_TABLES = ("spans", "transfers", "collectives")
StepRows = dict[str, dict[int, pa.Table]]
"""Rows of the first worker, by table (`_TABLES`) and step; a step without rows is left out."""


MOST_LAUNCHING = 0.2
"""Of a step on GPUs may pass until kernels are launched, for its replay to say something."""


class ReplayError(LabError):
    """The recording allows no graph of its steps, or no replay of it; the text says why."""


@dataclass(frozen=True)
class Recording:
    """The captured steps of a segment that have a graph."""

    segment: SegmentOpened
    graph: Graph
    steps: tuple[int, ...]
    """Captured steps, those that trace left out, in order."""
    bounds: dict[int, tuple[int, int]]
    """Start and end of each, in ns since the epoch."""
    cores: float
    """CPU cores that the process may use; infinite if its ops do not run on them."""
    timed: Timed = field(default_factory=dict, repr=False)
    """The timestamps of all replicas, if there are several workers."""
    do_share_cores: bool = False
    """Whether the workers run on the cores of one host."""
    warm_from: int = 0
    """The first step after the first capture window: during that window the run writes its graph
    on the same cores."""

    @property
    def node_of(self) -> dict[tuple[str, str], Node]:
        """Nodes by device and name; of equal ones that in the function with most nodes."""
        sizes = Counter(node.function for node in self.graph.nodes)
        ordered = sorted(self.graph.nodes, key=lambda node: sizes[node.function])
        return {(node.device, node.name): node for node in ordered}


def read_rows(profile: Profile, segment: int, steps: Collection[int]) -> StepRows:
    """Return what was recorded of some steps; of a long run, all steps may not fit the memory."""
    return {name: _by_step(_of_leader(_rows_of(profile, name, steps), segment)) for name in _TABLES}


def _rows_of(profile: Profile, name: str, steps: Collection[int]) -> pa.Table:
    parts = profile.parts(name, TABLES[name].names, lambda rows: rows, steps)
    return pa.concat_tables([TABLES[name].empty_table(), *parts]).unify_dictionaries()


def why_no_replay(profile: Profile, segment: int) -> str | None:
    """Return why a segment cannot be replayed, as a sentence; None if it can."""
    try:
        read_recording(profile, segment)
    except ReplayError as error:
        return str(error)
    return None


@once
def read_recording(profile: Profile, segment: int) -> Recording:
    """Return what a segment recorded; once per profile.

    Raises ReplayError if its steps have no graph.
    """
    opened = next((item for item in profile.segments if item.segment == segment), None)
    if opened is None:
        raise ReplayError(
            f"There is no segment {segment}: the run recorded {len(profile.segments)}",
            advice="Choose a segment that the run has",
        )
    if profile.is_imported:
        raise ReplayError(
            "An imported profile has no graph of its program: which op waits for which other is "
            "not recorded",
            advice="Record the program with the lab: strategy-lab trace SCRIPT",
        )
    _check_kind(opened)
    bounds = _bounds(profile, segment)
    if len(bounds) < FEWEST_STEPS:
        raise ReplayError(
            _too_few(profile, segment, len(bounds)),
            advice=_more_steps(opened) if step_times(profile, segment).count else _ANY_STEP,
        )
    _check_launches(profile, segment, bounds)
    timed: Timed = {}
    if opened.num_workers > 1:
        timed = _timed(profile, opened, bounds)
        bounds = {step: bounds[step] for step in timed}
    graph = _graph(profile, opened)
    return Recording(
        opened,
        graph,
        tuple(sorted(bounds)),
        bounds,
        _cores(profile, opened),
        timed,
        all(clock.source != "measured" for clock in profile.clocks.workers.values()),
        _warm_from(profile, segment),
    )


def _check_launches(profile: Profile, segment: int, bounds: Mapping[int, tuple[int, int]]) -> None:
    """Raise ReplayError if GPUs idle for their launches: a replay has no edge from a launch to its
    kernel, so it would promise what a faster device cannot give."""
    wall_ms = float(np.median([end - start for start, end in bounds.values()])) / 1e6
    launch_ms = held_up(profile, segment).launch_ms
    if launch_ms > MOST_LAUNCHING * wall_ms:
        raise ReplayError(
            f"A GPU idles for {units.milliseconds(launch_ms)} of a step until its next kernel is "
            "launched, and the graph of a step does not have what launches wait for",
            advice="Use tf.function(jit_compile=True) or a larger batch, and record again",
        )


def _timed(profile: Profile, opened: SegmentOpened, steps: Collection[int]) -> Timed:
    """Return the timestamps of the steps that have those of all replicas."""
    clocks = profile.clocks.workers
    unknown = [
        worker
        for worker in range(opened.num_workers)
        if worker not in clocks or clocks[worker].source is None
    ]
    if unknown:
        raise ReplayError(
            f"The clock of worker {unknown[0]} against that of worker {LEADER} is not known, so "
            "the steps of the workers cannot be put together",
            advice="Record the run again; its notes say why the clocks were not measured",
        )
    timed = timed_replicas(profile, opened, steps)
    whole = {step: each for step, each in timed.items() if len(each) == opened.num_replicas}
    if len(whole) < FEWEST_STEPS:
        raise ReplayError(
            f"Of {units.counted(len(steps), 'captured step')}, {len(whole)} have timestamps of all "
            f"replicas, and a replay needs {FEWEST_STEPS}",
            advice=_more_steps(opened),
        )
    return whole


def _more_steps(opened: SegmentOpened) -> str:
    """Return how to have more captured steps. Of other programs the choice of steps is unknown."""
    if not opened.is_of_lab:
        return "" if opened.num_workers > 1 else _TRACE_MORE  # of one worker alone
    captured_all = opened.spec.get("capture", {}).get("every_step", False)
    return _TRAIN_LONGER if captured_all else _CAPTURE_MORE


def _warm_from(profile: Profile, segment: int) -> int:
    """Return `Recording.warm_from` of a segment; 0 without a capture window."""
    ends = [
        window.first_step + window.num_steps
        for window in profile.events(WindowCaptured)
        if window.segment == segment and not window.error
    ]
    return min(ends, default=0)


def _of_leader(rows: pa.Table, segment: int) -> pa.Table:
    rows = of_segment(rows, segment)
    return rows.filter(pa.array(ints(rows, "worker") == LEADER))


def _check_kind(segment: SegmentOpened) -> None:
    if has_servers(segment):
        raise ReplayError(
            "Steps of parameter servers have no graph: each worker runs its own, and only "
            "their times are recorded, not their ops"
        )
    if segment.num_workers > 1 and segment.core_devices:
        raise ReplayError(
            f"Steps of a pod of {segment.num_workers} hosts have no graph: the steps of its "
            "hosts are started by the first one",
            advice="Record the same replicas on one host",
        )


def _too_few(profile: Profile, segment: int, count: int) -> str:
    if count:
        return (
            f"Segment {segment} has {units.counted(count, 'captured step')}, and a replay needs "
            f"{FEWEST_STEPS}: launch gaps come from other steps than the replayed one"
        )
    if not step_times(profile, segment).count:
        return "This run recorded no step"
    if profile.is_lost("replica_steps") or profile.is_lost("spans"):
        return f"No captured step of this run can be read: {LOST}"
    return f"Segment {segment} has no captured step: ops are recorded in captured steps alone"


def _bounds(profile: Profile, segment: int) -> dict[int, tuple[int, int]]:
    rows = _of_leader(profile.table("replica_steps"), segment)
    rows = rows.filter(pa.array(is_one_of(rows, "source", ("measured",))))
    steps = step_times(profile, segment)
    traced = set(steps.step[~steps.settled].tolist())
    bounds: dict[int, tuple[int, int]] = {}
    columns = (ints(rows, "step"), ints(rows, "start_ns"), floats(rows, "wall_ms"))
    for step, start, wall in zip(*(each.tolist() for each in columns), strict=True):
        if step not in traced and wall > 0:
            bounds[step] = (start, start + round(wall * 1e6))
    return bounds


def _graph(profile: Profile, opened: SegmentOpened) -> Graph:
    """Return the graph that the segment's captures were joined with."""
    path = graph_file(profile, opened.segment)
    if path is not None:
        try:
            return read_graph(path, opened.replica_devices, opened.core_devices or ())
        except RunFolderError as error:
            raise ReplayError(f"A replay needs the graph of the step: {error}") from None
    raise ReplayError(
        f"The graph of segment {opened.segment} is missing, which says what each op waits for",
        advice="Record the run again",
    )


def _cores(profile: Profile, opened: SegmentOpened) -> float:
    """Ops of virtual CPUs share the host's cores; those of accelerators have their own."""
    if not all("CPU" in device for device in opened.replica_devices):
        return np.inf
    environment = profile.environment
    return float(environment.host.cpus or np.inf) if environment else np.inf


def _by_step(rows: pa.Table) -> dict[int, pa.Table]:
    """Return the rows of each step, in order of start; waits for receives left out."""
    if "op" in rows.schema.names and "category" in rows.schema.names:
        gaps = is_one_of(rows, "op", RECEIVES)
        rows = rows.filter(pa.array(~gaps))
    if not rows.num_rows:
        return {}
    step = ints(rows, "step")
    order = np.lexsort((ints(rows, "start_ns"), step))
    rows, step = rows.take(pa.array(order)), step[order]
    numbers, first = np.unique(step, return_index=True)
    ends = [*first[1:].tolist(), len(step)]
    return {
        number: rows.slice(begin, until - begin)
        for number, begin, until in zip(numbers.tolist(), first.tolist(), ends, strict=True)
        if number >= 0
    }
