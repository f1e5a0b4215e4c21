"""Workers whose ops are not recorded take part in a replay by their timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import strategy_profiles
from strategy_profiles.replay.batch_edit import OtherBatch
from strategy_profiles.replay.build import StepBuilder
from strategy_profiles.replay.critical_path import path_table
from strategy_profiles.replay.edits import AverageReplica, Faster, RemoveDelay, Times
from strategy_profiles.replay.recording import (
    Recording,
    StepRows,
    read_recording,
    read_rows,
    why_no_replay,
)
from strategy_profiles.replay.step_graph import ENTER, StepGraph
from strategy_profiles.replay.timed_replicas import TimedReplica, timed_replicas
from strategy_profiles.replay.what_if import predict
from tests.profiles.replay.drawn_steps import step_of
from tests.profiles.replay.test_what_if import replays_of
from tests.replaced import replace
from tests.synthetic import TWO_HOSTS, write_run

DATA = Path(__file__).parents[2] / "data"
MS = 1_000_000
Captured = tuple[Recording, StepRows]


@pytest.fixture(scope="module")
def captured() -> Captured:
    """A step of four replicas whose all-reduces have a fifth rank, on another worker."""
    profile = strategy_profiles.load(DATA / "captured_step")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("strategy_profiles.replay.recording.FEWEST_STEPS", 1)
        one = read_recording(profile, 0)
    rows = read_rows(profile, 0, one.steps)
    ranks = {
        step: rows_of_step.set_column(
            rows_of_step.schema.get_field_index("group_size"),
            "group_size",
            pa.array([5] * rows_of_step.num_rows, rows_of_step.schema.field("group_size").type),
        )
        for step, rows_of_step in rows["collectives"].items()
    }
    return one, {**rows, "collectives": ranks}


def with_worker(captured: Captured, ready_ms: float, gradients_ms: float) -> StepGraph:
    """The step with another worker, which waits 1 ms for its batch; times since the step's start.

    Its delay is 2 ms.
    """
    recording, rows = captured
    (step,) = recording.steps
    begin = recording.bounds[step][0]
    ready = begin + round(ready_ms * MS)
    gradients = begin + round(gradients_ms * MS)
    other = TimedReplica(1, 4, "/device:CPU:9", ready - 2 * MS, MS, ready, 2 * MS, gradients)
    return StepBuilder(replace(recording, timed={step: (other,)}), rows).build(step)


def of_replica(graph: StepGraph, replica: int) -> dict[str, tuple[float, float]]:
    """Start and end of its nodes in ms, by category."""
    nodes = graph.nodes
    return {
        nodes.category[at]: (nodes.start_ns[at] / MS, nodes.end_ns[at] / MS)
        for at in np.flatnonzero(nodes.replica == replica).tolist()
    }


def test_another_worker_has_a_node_for_each_phase(captured: Captured) -> None:
    times = of_replica(with_worker(captured, 4, 9), 4)
    assert times == {
        "input": (2, 3),
        "compute": (4, 7),
        "delay": (7, 9),
        ENTER: (9, 9),
    }


def test_what_a_worker_did_before_the_first_one_began_is_left_out(captured: Captured) -> None:
    assert of_replica(with_worker(captured, -4, 3), 4) == {
        "compute": (0, 1),
        "delay": (1, 3),
        ENTER: (3, 3),
    }
    assert of_replica(with_worker(captured, -9, -1), 4) == {ENTER: (0, 0)}


def test_the_all_reduce_of_the_gradients_waits_for_another_worker(captured: Captured) -> None:
    graph = with_worker(captured, 4, 9)
    exits = [at for at, each in enumerate(graph.nodes.category) if each == "collective"]
    for at in exits:
        awaited = graph.nodes.replica[list(graph.waits_for[at])]
        assert sorted(awaited.tolist()) == [0, 1, 2, 3, 4]


def test_what_a_worker_begins_later_is_its_late_start_on_the_critical_path(
    captured: Captured,
) -> None:
    graph = with_worker(captured, 104, 110)  # the last replica of the first is there at 109.5 ms
    shares = {(item.kind, item.op): item.total_ms for item in path_table(graph)}
    assert shares["late start", "worker 1"] == pytest.approx(102)


def test_workers_on_one_host_share_its_cores(captured: Captured) -> None:
    recording, rows = captured

    def demand(do_share_cores: bool) -> Sequence[float]:
        graph = with_worker((replace(recording, do_share_cores=do_share_cores), rows), 4, 9)
        chosen = graph.is_timed & (np.array(graph.nodes.category) == "compute")
        demands: list[float] = graph.nodes.demand[chosen].tolist()
        return demands

    assert demand(False) == [0.0]
    assert 0 < demand(True)[0] <= recording.cores


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


def test_timestamps_are_on_the_clock_of_the_first_worker(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=30, **TWO_HOSTS))
    timed = timed_replicas(profile, profile.segments[0], range(20, 23))
    assert sorted(timed) == [20, 21, 22]
    for replicas in timed.values():
        assert [(each.worker, each.replica) for each in replicas] == [
            (0, 0),
            (0, 1),
            (1, 2),
            (1, 3),
        ]
        starts = [each.start_ns for each in replicas]
        assert max(starts) - min(starts) < MS  # their clocks differ by 50 ms


def test_workers_of_unknown_clocks_cannot_be_replayed(tmp_path: Path) -> None:
    options = {**TWO_HOSTS, "clock_measured": False}
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=60, **options))
    assert "The clock of worker 1" in (why_no_replay(profile, 0) or "")


def test_steps_without_the_timestamps_of_all_cannot_be_replayed(tmp_path: Path) -> None:
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", steps=60, marks=False, **TWO_HOSTS)
    )
    assert "0 have timestamps of all replicas" in (why_no_replay(profile, 0) or "")
