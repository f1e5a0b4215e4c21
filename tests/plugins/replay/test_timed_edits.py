"""Edits of a step change the workers whose ops are not recorded, too."""

from __future__ import annotations

import numpy as np
import pytest

from strategy_profiles.step_graph.graph import ENTER, StepGraph
from strategy_replay.engine.batch_edit import OtherBatch
from strategy_replay.engine.edits import AverageReplica, Faster, RemoveDelay, Times
from strategy_replay.engine.what_if import predict
from tests.plugins.replay.drawn_steps import step_of
from tests.plugins.replay.test_what_if import replays_of
from tests.replaced import replace

MS = 1_000_000


def late_worker(number: int) -> StepGraph:
    """Worker 0 computes 10 ms in two ops; worker 1 10 ms in one phase, and sleeps 30 ms."""
    drawn = [
        (4.0 * MS, ()),
        (6.0 * MS, (0,)),
        (10.0 * MS, ()),
        (30.0 * MS, (2,)),
        (2.0 * MS, (1, 3)),
    ]
    kinds = ["compute", "compute", "compute", "delay", "collective"]
    step = step_of(drawn, 2.0, kinds, [0, 0, 1, 1, 0], step=number)
    phases = {
        0: {"compute": 10.0 * MS, "delay": 0.0, "input": 0.0},
        1: {"compute": 10.0 * MS, "delay": 30.0 * MS, "input": 0.0},
    }
    return replace(step, phases_ns=phases, timed=frozenset({1}))


@pytest.mark.parametrize(
    ("edit", "predicted_ms"),
    [
        (RemoveDelay(recovered=0.0), 12.0),
        (AverageReplica(1), 12.0),
        (AverageReplica(0), 42.0),
        (Faster("compute", 2), 37.0),
        (Faster("Op1", 2), 39.0),  # 7 of 10 ms are left, of worker 1 likewise
        (Faster("communication", 2), 41.0),
    ],
    ids=str,
)
def test_an_edit_changes_both_workers(edit: Faster, predicted_ms: float) -> None:
    known = replays_of([late_worker(number) for number in range(6)])
    assert predict(known, [edit]).predicted_ms == pytest.approx(predicted_ms)


def test_another_batch_changes_a_worker_without_ops_as_those_with_ops() -> None:
    step = late_worker(0)
    nodes = replace(
        step.nodes,
        category=["compute", "compute", "compute", ENTER, "collective", "host"],
        bytes=np.array([*[np.nan] * 3, 1e6, 1e6, np.nan]),
    )
    graph = replace(step, nodes=nodes, waits_for=((), (0,), (), (1, 2), (3,), (4,)))
    known = replays_of([replace(graph, step=number) for number in range(6)])
    before, after = known.steps[0], OtherBatch(128, 64, fixed_ns=1.0 * MS)
    lengths = before.work_ns.copy()
    times = Times(lengths, before.gap_ns.copy())
    after.apply(graph, times)
    assert times.work_ns[:3] / MS == pytest.approx([7, 11, 18])


def test_a_delay_that_ended_before_the_step_began_is_nothing_to_remove() -> None:
    steps = [late_worker(number) for number in range(6)]
    kinds = ["compute", "compute", "compute", "compute", "collective", "host"]
    early = replace(steps[0], nodes=replace(steps[0].nodes, category=kinds))
    prediction = predict(replays_of([*steps, early]), [RemoveDelay(recovered=0.0)])
    assert prediction.predicted_ms == pytest.approx(12.0)
