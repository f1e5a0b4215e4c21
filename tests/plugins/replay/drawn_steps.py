"""Steps drawn by hand, as a machine with some cores would have recorded them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.step_graph.graph import StepGraph
from strategy_profiles.tables.columns import Floats
from strategy_replay.engine.simulate import simulate
from tests.profiles.step_graph import drawn_steps
from tests.profiles.step_graph.drawn_steps import Drawn


def two_replicas(devices: Sequence[str] = ()) -> SegmentOpened:
    """A segment of two replicas on these devices, whose gradients cross in a ring."""
    return SegmentOpened(
        segment=0,
        strategy="mirrored",
        num_replicas=2,
        num_workers=1,
        global_batch_size=64,
        first_step=0,
        started_ns=0,
        replica_devices=list(devices),
        cross_device_ops="collective-ring",
        spec={},
    )


def step_of(
    drawn: Sequence[Drawn],
    cores: float = np.inf,
    categories: Sequence[str] = (),
    replicas: Sequence[int] = (),
    step: int = 0,
    gap_ns: float = 0.0,
) -> StepGraph:
    """Return the step as a machine with these cores would have recorded it."""

    def ran(graph: StepGraph, lengths: Floats, gaps: Floats) -> tuple[Floats, Floats]:
        schedule = simulate(graph, lengths, gaps, cores)
        return schedule.start_ns, schedule.end_ns

    return drawn_steps.step_of(drawn, categories, replicas, step, gap_ns, ran)
