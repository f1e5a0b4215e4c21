"""The late replica, its lateness and cost; noise yields no straggler."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.analysis.stragglers import (
    NOTICEABLE_SCORE,
    Work,
    lateness,
    stragglers,
)
from strategy_profiles.run.layout import worker_folder
from tests.event_records import read_records, write_records
from tests.synthetic import write_run


@pytest.mark.parametrize(("windows", "marks"), [(0, True), (3, True), (3, False)])
@pytest.mark.parametrize(("replicas", "late"), [(2, 1), (4, 2), (16, 9)])
def test_a_late_replica_is_found_with_its_delay(
    tmp_path: Path, replicas: int, late: int, windows: int, marks: bool
) -> None:
    run = write_run(
        tmp_path / "run",
        replicas=replicas,
        straggler=(late, 30.0),
        windows=windows,
        marks=marks,
    )
    late_replicas = stragglers(strategy_profiles.load(run), 0)
    assert late_replicas.source == ("marks" if marks else "measured")
    assert late_replicas.straggler is not None
    assert late_replicas.straggler.replica == late
    assert late_replicas.straggler.late_ms == pytest.approx(30.0, rel=0.05)
    assert late_replicas.straggler.last_share == 1.0
    assert late_replicas.straggler.score > 3
    # 20 ms of compute, 3.5 of the rest, 30 late: the run without it is 53.5 / 23.5 as fast.
    assert late_replicas.slowdown == pytest.approx(53.5 / 23.5, rel=0.05)
    assert late_replicas.replay_error is not None
    assert late_replicas.replay_error < 0.02


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("replicas", [2, 4, 16])
def test_noise_has_no_outlier(tmp_path: Path, replicas: int, seed: int) -> None:
    late_replicas = stragglers(
        strategy_profiles.load(
            write_run(tmp_path / "run", replicas=replicas, seed=seed, windows=0)
        ),
        0,
    )
    assert late_replicas.straggler is None
    assert late_replicas.latest is not None


@pytest.mark.parametrize(("num_steps", "is_reported"), [(22, True), (5, False)])
def test_a_replica_that_is_always_last_is_late_however_much_that_varies(
    num_steps: int, is_reported: bool
) -> None:
    """As on a machine where other programs make some steps seven times as long as others."""
    late_ms = np.geomspace(60.0, 900.0, num_steps)
    wait = np.column_stack([late_ms, np.zeros(num_steps)])
    work = np.column_stack([late_ms / 2, 1.5 * late_ms])
    late_replicas = lateness(Work("measured", [0, 1], [0, 0], wait, work, 2 * late_ms), 0, {})
    assert late_replicas.latest is not None
    assert late_replicas.latest.score < NOTICEABLE_SCORE
    assert [item.replica for item in late_replicas.late] == ([1] if is_reported else [])


def test_a_straggler_needs_two_replicas(tmp_path: Path) -> None:
    late_replicas = stragglers(strategy_profiles.load(write_run(tmp_path / "run", replicas=1)), 0)
    assert late_replicas.straggler is None
    assert late_replicas.reason == "one replica: no other to compare it with"


def test_too_few_steps_are_no_evidence(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=3, windows=0, straggler=(0, 30.0))
    late_replicas = stragglers(strategy_profiles.load(run), 0)
    assert late_replicas.straggler is None
    assert late_replicas.reason == "fewer than 3 steps with every replica's time"


@pytest.mark.parametrize(("windows", "marks"), [(0, True), (3, False)])
@pytest.mark.parametrize("replicas", [3, 4, 8])
def test_every_late_replica_is_found_with_its_own_delay(
    tmp_path: Path, replicas: int, windows: int, marks: bool
) -> None:
    run = write_run(
        tmp_path / "run",
        replicas=replicas,
        global_batch_size=240,
        straggler=(1, 60.0),
        also_late=(2, 30.0),
        windows=windows,
        marks=marks,
    )
    late_replicas = stragglers(strategy_profiles.load(run), 0)
    assert [late.replica for late in late_replicas.late] == [1, 2]
    assert [late.late_ms for late in late_replicas.late] == pytest.approx([60.0, 30.0], rel=0.05)
    assert [late.last_share for late in late_replicas.late] == [1.0, 1.0]
    assert late_replicas.straggler == late_replicas.late[0]


def test_of_two_late_replicas_the_later_one_is_compared_with_the_other(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, straggler=(0, 60.0), also_late=(1, 30.0))
    late_replicas = stragglers(strategy_profiles.load(run), 0)
    assert [late.replica for late in late_replicas.late] == [0]
    assert late_replicas.late[0].late_ms == pytest.approx(30.0, rel=0.05)
    assert late_replicas.replicas[1].late_ms == pytest.approx(-30.0, rel=0.05)


@pytest.mark.parametrize("num_replicas", [2, 3, 4, 5, 6])
def test_each_replica_is_compared_with_the_usual_wait_of_the_others(num_replicas: int) -> None:
    rng = np.random.default_rng(num_replicas)
    wait = rng.uniform(0, 0.3, (50, num_replicas))  # too little for any of them to stand out
    work, wall = np.full_like(wait, 10.0), np.full(len(wait), 12.0)
    numbers = list(range(num_replicas))
    late_replicas = lateness(Work("marks", numbers, [0] * num_replicas, wait, work, wall), 0, {})
    assert not late_replicas.late
    for replica in late_replicas.replicas:
        others = np.delete(wait, replica.replica, axis=1)
        late = np.median(others, axis=1) - wait[:, replica.replica]
        assert replica.late_ms == pytest.approx(float(np.median(late)), abs=1e-12)


def test_comparing_the_replicas_of_a_long_run_takes_little_memory_per_step(tmp_path: Path) -> None:
    """A summary of 1,000,000 steps takes the most memory here; 1 GB is its limit as a whole."""
    run = write_run(tmp_path / "run", steps=10_000, replicas=2, windows=0)
    stragglers(strategy_profiles.load(run), 0)  # what is imported on first use does not count
    profile = strategy_profiles.load(run)
    step_times(profile, 0)
    tracemalloc.start()
    try:
        assert stragglers(profile, 0).replicas
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10_000 * 430


def test_numbers_that_leave_out_steps_change_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=3, steps=60, windows=0, straggler=(1, 5.0))
    events = worker_folder(run, 0).events
    records = read_records(events)
    for length, record in enumerate(record for record in records if record["kind"] == "step"):
        record["wall_ms"] += length  # no two steps are equally long
    write_records(events, records)
    expected = stragglers(strategy_profiles.load(run), 0)
    for record in records:
        if record["kind"] == "step":
            record["step"] *= 3
    write_records(events, records)
    assert stragglers(strategy_profiles.load(run), 0) == expected
