"""Workers whose ops are not recorded take part in a replay by their timestamps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import strategy_profiles
from strategy_profiles.step_graph.build import StepBuilder
from strategy_profiles.step_graph.critical_path import critical_path
from strategy_profiles.step_graph.graph import ENTER, StepGraph
from strategy_profiles.step_graph.recording import (
    Recording,
    StepRows,
    read_recording,
    read_rows,
    why_no_replay,
)
from strategy_profiles.step_graph.timed_replicas import TimedReplica, timed_replicas
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
        patched.setattr("strategy_profiles.step_graph.recording.FEWEST_STEPS", 1)
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
    (late,) = [piece for piece in critical_path(graph) if piece.kind == "late start"]
    assert late.op == "worker 1"
    assert late.length_ns == pytest.approx(102 * MS)


def test_workers_on_one_host_share_its_cores(captured: Captured) -> None:
    recording, rows = captured

    def demand(do_share_cores: bool) -> Sequence[float]:
        graph = with_worker((replace(recording, do_share_cores=do_share_cores), rows), 4, 9)
        chosen = graph.is_timed & (np.array(graph.nodes.category) == "compute")
        demands: list[float] = graph.nodes.demand[chosen].tolist()
        return demands

    assert demand(False) == [0.0]
    assert 0 < demand(True)[0] <= recording.cores


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
