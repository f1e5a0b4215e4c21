"""The captured steps of a segment replayed, and how far the replay is from what was measured.

Half of the steps lends its launch gaps to the other half, so that no step is replayed with its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strategy_profiles.analysis.compare.run_spread import (
    ASSUMED_SPREAD,
    RunSpread,
    known_spread,
)
from strategy_profiles.analysis.compare.student_t import student_t
from strategy_profiles.run.events import WindowCaptured
from strategy_profiles.step_graph.build import StepBuilder
from strategy_profiles.step_graph.graph import StepGraph
from strategy_profiles.step_graph.recording import Recording, read_recording, read_rows
from strategy_profiles.tables.columns import Floats
from strategy_replay.engine.launch_gaps import GapModel
from strategy_replay.engine.simulate import Schedule, own_work, simulate

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

FEWEST_REPLAYED, MOST_REPLAYED = 24, 60
"""Of more captured steps, some at equal distances are replayed: so many. Those of the first window
are replayed only if there are fewer after it."""
_MOST_OTHER_RUNS = 8
_NORMAL_90 = 1.645
"""Standard deviations around the mean that hold 90 % of a normal distribution."""
_MOST_NODES = 40_000
"""More than the fewest are replayed if their graphs have no more nodes, about 0.6 s of work."""


@dataclass(frozen=True)
class Replay:
    """One step, replayed without an edit."""

    graph: StepGraph
    work_ns: Floats
    """Length of each node on a core of its own."""
    gap_ns: Floats
    """Launch gap of each node, from other steps."""
    schedule: Schedule
    cores: float

    @property
    def error(self) -> float:
        """`(T_replay - T_measured) / T_measured`."""
        return self.schedule.length_ns / self.graph.wall_ns - 1

    @property
    def unexplained_ns(self) -> float:
        """`T_measured - T_replay`."""
        return self.graph.wall_ns - self.schedule.length_ns


@dataclass(frozen=True)
class Replays:
    """The replayed steps of a segment."""

    recording: Recording
    steps: tuple[Replay, ...]
    spread: RunSpread | None = None
    """By how much runs of this spec differ; None if too few other runs beside it tell that."""

    @property
    def run_difference(self) -> float:
        """Logarithm by which two runs of the spec differ, exceeded in 10 of 100 pairs."""
        if self.spread is None:
            return _NORMAL_90 * math.sqrt(2) * ASSUMED_SPREAD
        return student_t(self.spread.freedom, 0.9) * self.spread.pair_spread

    @property
    def error(self) -> float:
        """Median of `|T_replay - T_measured| / T_measured`."""
        return float(np.median(self._errors))

    @property
    def error_p95(self) -> float:
        """95th percentile of it."""
        return float(np.quantile(self._errors, 0.95))

    @property
    def measured_ms(self) -> float:
        """Median length of the captured steps that were replayed."""
        return float(np.median([step.graph.wall_ns for step in self.steps])) / 1e6

    @property
    def replayed_ms(self) -> float:
        """Median length of their replays."""
        return float(np.median([step.schedule.length_ns for step in self.steps])) / 1e6

    @property
    def unexplained_ms(self) -> float:
        """Median of `T_measured - T_replay`: positive if steps take longer than their replay."""
        return float(np.median([step.unexplained_ns for step in self.steps])) / 1e6

    @property
    def middle(self) -> Replay:
        """The replayed step of median length."""
        ordered = sorted(self.steps, key=lambda step: step.graph.wall_ns)
        return ordered[(len(ordered) - 1) // 2]

    @property
    def _errors(self) -> Floats:
        return np.abs([step.error for step in self.steps])


def replays(profile: Profile, segment: int) -> Replays:
    """Replay the captured steps of a segment; once per profile.

    Raises ReplayError if the recording does not allow it.
    """
    return profile.once(("replays", segment), lambda: _replay_all(profile, segment))


def _replay_all(profile: Profile, segment: int) -> Replays:
    recording = read_recording(profile, segment)
    warm = [step for step in recording.steps if step >= recording.warm_from]
    steps = warm if len(warm) >= FEWEST_REPLAYED else recording.steps
    if len(steps) > FEWEST_REPLAYED:
        steps = _steps_to_replay(steps, _num_nodes(profile, recording))
    builder = StepBuilder(recording, read_rows(profile, segment, steps))
    graphs = [builder.build(step) for step in steps]
    spread = known_spread([(profile, segment)], _MOST_OTHER_RUNS)
    return Replays(recording, replay_graphs(graphs, recording.cores), spread)


def replay_graphs(graphs: Sequence[StepGraph], cores: float) -> tuple[Replay, ...]:
    """Replay every other step with the launch gaps of those between them, and the reverse."""
    works = [own_work(graph, cores) for graph in graphs]
    models = [GapModel(graphs[1 - half :: 2], works[1 - half :: 2], cores) for half in (0, 1)]
    replayed = []
    for number, (graph, work) in enumerate(zip(graphs, works, strict=True)):
        gaps = models[number % 2].gaps_ns(graph)
        replayed.append(Replay(graph, work, gaps, simulate(graph, work, gaps, cores), cores))
    return tuple(replayed)


def _num_nodes(profile: Profile, recording: Recording) -> int:
    """Return how many nodes a step's graph has, or about how many if they are few.

    In a long run, finding one step takes as long as finding all that are replayed. So where the
    capture windows hold few spans per step, each of which is a node or two, none is built.
    """
    segment = recording.segment.segment
    num_spans = [
        window.num_spans // window.num_steps
        for window in profile.events(WindowCaptured)
        if window.segment == segment and not window.error and window.num_steps
    ]
    if 0 < max(num_spans, default=0) <= _MOST_NODES // MOST_REPLAYED:
        return max(num_spans)
    first = recording.steps[0]
    return len(StepBuilder(recording, read_rows(profile, segment, [first])).build(first))


def _steps_to_replay(steps: Sequence[int], num_nodes: int) -> list[int]:
    """Return the steps to replay, given the nodes of one."""
    num = min(max(_MOST_NODES // num_nodes, FEWEST_REPLAYED), MOST_REPLAYED, len(steps))
    places = np.linspace(0, len(steps) - 1, num).round().astype(int)
    return [steps[at] for at in places.tolist()]
