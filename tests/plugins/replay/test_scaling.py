"""Steps on more replicas, predicted from recordings whose truth is known; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.events import SegmentOpened
from strategy_replay.scaling.errors import PredictionError
from strategy_replay.scaling.link import Link
from strategy_replay.scaling.predicting import predict_from, predict_scaling
from strategy_replay.scaling.recorded_steps import RecordedSteps
from tests.synthetic import write_run

GRADIENTS = 4_000_000
"""A small all-reduce of two: 8 ms, and 1 ms for each of the 2(n-1) messages."""
LINK = Link(name="fast", bandwidth_gbps=10.0, bandwidth_source="a test")


def small_ms(num: int) -> float:
    return 8.0 + 2 * (num - 1) if num > 1 else 0.0


def reduce_ms(num: int) -> float:
    """20 ms for the bytes of two."""
    return small_ms(num) + 40.0 * (num - 1) / num if num > 1 else 0.0


def recorded(num: int, *, steps: int = 400, batch: int = 32, noise: float = 0.03) -> RecordedSteps:
    """Steps of 100 ms of compute and 10 ms of rest, as `num` workers would record them."""
    random = np.random.default_rng([num, batch])
    compute = 100.0 * batch / 32 * (1 + noise * random.standard_normal((steps, num)))
    rest = np.full((steps, num), 10.0 + small_ms(num))
    reduce = np.full(steps, reduce_ms(num))
    opened = SegmentOpened(
        segment=0,
        strategy="multi-worker-mirrored",
        num_replicas=num,
        num_workers=num,
        global_batch_size=batch * num,
        first_step=0,
        started_ns=0,
        replica_devices=[],
        cross_device_ops="collective-ring",
        spec={},
    )
    wall = compute.max(axis=1) + reduce + rest[:, 0]
    return RecordedSteps(f"run-{num}", opened, wall, compute, rest, reduce, GRADIENTS, None, 0.0)


@pytest.mark.parametrize(("sources", "number"), [((1, 2), 4), ((1, 2), 8), ((2, 4), 8)])
def test_the_truth_of_a_made_recording_is_found(sources: tuple[int, ...], number: int) -> None:
    step = predict_from([recorded(num) for num in sources], [number]).steps[0]
    really = recorded(number).step_ms
    assert step.step_ms == pytest.approx(really, rel=0.08)
    assert step.low_ms is not None
    assert step.high_ms is not None
    assert step.low_ms < really < step.high_ms


def test_more_replicas_wait_for_the_latest_of_more() -> None:
    steady, noisy = (
        predict_from([recorded(1, noise=noise), recorded(2, noise=noise)], [64]).steps[0]
        for noise in (0.0, 0.1)
    )
    # The largest of 64 normal deviates is 2.4 standard deviations above the mean.
    assert noisy.step_ms - steady.step_ms == pytest.approx(24.0, abs=6.0)


def test_steps_get_longer_and_efficiency_falls_with_every_replica() -> None:
    rows = predict_from([recorded(1), recorded(2)], [4, 8, 16, 1024]).rows
    assert [item.num_replicas for item in rows] == [1, 2, 4, 8, 16, 1024]
    assert sorted(item.step_ms for item in rows) == [item.step_ms for item in rows]
    assert sorted((item.efficiency for item in rows), reverse=True) == [
        item.efficiency for item in rows
    ]
    assert rows[0].efficiency == 1.0
    widths = [item.high_ms / item.low_ms for item in rows if item.low_ms and item.high_ms]
    assert sorted(widths) == widths


def test_measured_numbers_of_replicas_are_not_predicted() -> None:
    prediction = predict_from([recorded(1), recorded(2)], [1, 2, 4])
    assert [item.basis for item in prediction.rows] == ["measured", "measured", "predicted"]
    assert prediction.measured[1].step_ms == recorded(2).step_ms
    assert prediction.measured[1].low_ms is None


def test_one_group_alone_leaves_a_wide_interval() -> None:
    narrow, wide = (
        predict_from(runs, [8]).steps[0] for runs in ([recorded(1), recorded(2)], [recorded(2)])
    )
    assert wide.high_ms is not None
    assert narrow.high_ms is not None
    assert wide.high_ms > narrow.high_ms
    assert any("latency is open" in note for note in predict_from([recorded(2)], [8]).notes)


def test_beyond_four_times_the_recorded_replicas_is_paper() -> None:
    prediction = predict_from([recorded(1), recorded(2)], [8, 16])
    assert [item.basis for item in prediction.steps] == ["predicted", "on paper"]


def test_a_described_link_replaces_the_recorded_one() -> None:
    step = predict_from([recorded(1)], [4], link=LINK).steps[0]
    # 4 MB over a ring of four: 6 MB at 10 GB/s.
    assert step.all_reduce_ms == pytest.approx(0.6)
    assert step.basis == "on paper"


def test_faster_devices_compute_in_less_time() -> None:
    twice = LINK.model_copy(update={"device_times_as_fast": 2.0, "device_source": "a test"})
    plain, fast = (
        predict_from([recorded(1, noise=0.0)], [2], link=link).steps[0] for link in (LINK, twice)
    )
    assert plain.step_ms - fast.step_ms == pytest.approx(50.0, rel=0.01)


def test_another_algorithm_sends_other_messages() -> None:
    runs = [recorded(1), recorded(2)]
    ring, central = (
        predict_from(runs, [16], algorithm=name).steps[0].all_reduce_ms
        for name in (None, "reduction-to-one-device")
    )
    assert central > 5 * ring


def test_another_batch_needs_runs_of_two_batches() -> None:
    two = [recorded(2), recorded(2, batch=64)]
    step = predict_from(two, [4], batch_per_replica=128).steps[0]
    assert step.step_ms == pytest.approx(recorded(4, batch=128).step_ms, rel=0.06)
    with pytest.raises(PredictionError, match="All runs have 32 examples per replica"):
        predict_from([recorded(1), recorded(2)], [4], batch_per_replica=64)


@pytest.mark.parametrize(
    ("runs", "numbers", "problem"),
    [
        ([1], [4], "one replica, so no all-reduce was recorded"),
        ([], [4], "No run to predict from"),
        ([1, 2], [0], "1 to 1024 replicas, received 0"),
        ([1, 2], [2048], "1 to 1024 replicas, received 2048"),
    ],
)
def test_a_prediction_without_what_it_needs_is_refused(
    runs: list[int], numbers: list[int], problem: str
) -> None:
    with pytest.raises(PredictionError, match=problem):
        predict_from([recorded(num) for num in runs], numbers)


def cluster(tmp_path: Path, num: int, **options: Any) -> strategy_profiles.Profile:
    made = {"workers": num, "replicas": num, "global_batch_size": 32 * num, "windows": 1}
    return strategy_profiles.load(write_run(tmp_path / f"{num}", **{**made, **options}))


def test_recorded_runs_predict_a_recorded_run(tmp_path: Path) -> None:
    # 20 ms of compute; the bytes that pass a worker of four are 1.5 times those of two.
    two, four = (cluster(tmp_path, num, transfer_ms=ms) for num, ms in ((2, 10.0), (4, 15.0)))
    step = predict_scaling([two], [4]).steps[0]
    wall = step_times(four, 0).median_ms
    assert step.low_ms is not None
    assert step.high_ms is not None
    assert wall is not None
    assert step.low_ms <= wall <= step.high_ms
    assert step.step_ms == pytest.approx(wall, rel=0.04)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"inject": [{"replica": 1, "ms": 30}]}, "has an injected delay"),
        ({"marks": False}, "no timestamps of their replicas"),
        ({"steps": 5}, "has 4 timed steps, and a prediction needs 8"),
    ],
)
def test_recordings_that_do_not_allow_it_are_refused(
    tmp_path: Path, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(PredictionError, match=problem):
        predict_scaling([cluster(tmp_path, 2, **options)], [4])


def test_different_models_are_refused(tmp_path: Path) -> None:
    runs = [cluster(tmp_path, 2), cluster(tmp_path, 4, collective_bytes=(1_000,))]
    with pytest.raises(PredictionError, match="train different models"):
        predict_scaling(runs, [8])


def test_runs_on_as_many_replicas_are_pooled() -> None:
    once, twice = (
        predict_from([recorded(1), *[recorded(2, steps=100)] * num], [4]) for num in (1, 2)
    )
    assert twice.measured[1].step_ms == once.measured[1].step_ms
    assert twice.runs == ("run-1", "run-2", "run-2")


@pytest.mark.parametrize(
    ("options", "wanted", "problem"),
    [
        ({}, {}, "which only a replay predicts: The graph of segment 0 is missing"),
        ({}, {"link": LINK}, "another link, algorithm or batch"),
        ({"inject": [{"replica": 1, "ms": 30}]}, {}, "has an injected delay"),
        ({"strategy": "central-storage"}, {}, "1 replica of run had no copy of the variables"),
    ],
)
def test_replicas_that_share_cores_need_a_replay(
    tmp_path: Path, options: dict[str, Any], wanted: dict[str, Any], problem: str
) -> None:
    run = strategy_profiles.load(write_run(tmp_path / "run", replicas=2, **options))
    with pytest.raises(PredictionError, match=problem):
        predict_scaling([run], [4], **wanted)
