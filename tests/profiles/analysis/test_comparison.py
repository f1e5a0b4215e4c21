"""The run is the unit: one run a side has a difference and no answer, several in turns have one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategy_profiles
from strategy_profiles.analysis.compare.comparison import (
    Comparison,
    TimedRun,
    compare_sides,
    neighbours,
)
from strategy_profiles.analysis.compare.machine import Machine, different_machines
from strategy_profiles.analysis.compare.metrics import METRICS, changed_metric
from strategy_profiles.analysis.compare.repetitions import (
    difference_found,
    runs_assumed,
    runs_needed,
)
from strategy_profiles.analysis.compare.run_comparison import compare_runs, compare_sets
from strategy_profiles.analysis.compare.run_spread import spread_of
from strategy_profiles.analysis.compare.run_time import run_time, time_of
from strategy_profiles.analysis.compare.student_t import student_t
from strategy_profiles.analysis.compare.text import answer, remarks
from strategy_profiles.questions.comparison import comparison
from strategy_profiles.run.event_parts import Gpu
from tests.event_records import read_records, write_records
from tests.profiles.analysis.test_run_time import steps_of
from tests.replaced import replace
from tests.synthetic import write_run
from tests.synthetic.recorded_again import write_run_of_program


def runs(medians_ms: list[float], starts: list[int]) -> list[TimedRun]:
    """Runs of 20 equal steps each."""
    return [
        TimedRun(time_of(np.full(20, median)), start)
        for median, start in zip(medians_ms, starts, strict=True)
    ]


def in_turns(a_ms: list[float], b_ms: list[float]) -> Comparison:
    """A B B A A B ...: each run of B beside one of A."""
    firsts = [4 * (i // 2) + (3 if i % 2 else 0) for i in range(len(a_ms))]
    seconds = [4 * (i // 2) + (2 if i % 2 else 1) for i in range(len(b_ms))]
    return compare_sides(runs(a_ms, firsts), runs(b_ms, seconds))


def test_one_run_a_side_has_a_difference_and_no_answer() -> None:
    comparison = compare_sides(runs([20.0], [0]), runs([30.0], [1]))
    assert comparison.ratio == pytest.approx(1.5)
    assert (comparison.verdict, comparison.low, comparison.high) == ("cannot tell", None, None)
    assert comparison.unit == "step"
    assert "one run a side" in (comparison.reason or "")
    assert not comparison.is_within_noise


def test_the_answer_has_the_throughput_if_the_batches_differ(tmp_path: Path) -> None:
    options = {"steps": 100, "windows": 0}
    small, other = (
        strategy_profiles.load(write_run(tmp_path / name, seed=seed, **options))
        for seed, name in enumerate(("small", "other"))
    )
    large = strategy_profiles.load(write_run(tmp_path / "large", global_batch_size=512, **options))
    verdict, rest = answer(compare_runs(small, large))
    assert verdict == "B trains 100 % more examples per second"
    assert "; the batches differ. The loop takes " in rest
    first, *_ = comparison(compare_runs(small, large)).numbers
    assert (first.key, first.text) == ("loop_throughput", "+100.0 %")
    assert "batches" not in answer(compare_runs(small, other))[1]


def test_another_tensorflow_or_number_of_cpus_is_a_warning(tmp_path: Path) -> None:
    local = write_run(tmp_path / "here", steps=30, windows=0)
    same = write_run(tmp_path / "same", steps=30, windows=0, seed=1)
    assert not any("different" in said for said in warnings_of(local, same))
    change_environment(same, lambda environment: environment | {"tensorflow": "2.20.0"})
    assert "The runs have different versions of TensorFlow (2.21.0 and 2.20.0)." in warnings_of(
        local, same
    )
    change_environment(
        same,
        lambda environment: (
            environment | {"tensorflow": "", "host": environment["host"] | {"cpus": None}}
        ),
    )
    assert not any("different" in said for said in warnings_of(local, same)), "it is not known"
    change_environment(
        same, lambda environment: environment | {"host": environment["host"] | {"cpus": 64}}
    )
    (said,) = (said for said in warnings_of(local, same) if "machines" in said)
    assert said.endswith("and synthetic (64 CPUs)).")


def test_other_gpus_of_one_host_are_a_warning(tmp_path: Path) -> None:
    card = {"name": "GPU:0", "model": "NVIDIA A", "compute_capability": "8.0", "driver": "570"}
    here, there = (
        write_run(tmp_path / name, steps=30, windows=0, seed=seed)
        for seed, name in enumerate(("here", "there"))
    )

    def said(*gpus: dict[str, Any]) -> list[str]:
        change_environment(there, lambda environment: environment | {"gpus": list(gpus)})
        return [said for said in warnings_of(here, there) if "machines" in said]

    assert not said(card), "the cards of the other run are not known"
    change_environment(here, lambda recorded_environment: recorded_environment | {"gpus": [card]})
    assert not said(card)
    assert not said(card | {"driver": None})
    assert not said(card, card), "the lab shows each run the cards of its spec"
    for change in ({"model": "NVIDIA B"}, {"compute_capability": "9.0"}, {"driver": "580"}):
        (warning,) = said(card | change)
        assert next(iter(change.values())) in warning


def test_another_number_of_gpus_is_a_warning_for_programs() -> None:
    one, two = (Machine("here", 2, gpus=(Gpu("GPU:0"),) * n, num_gpus=n) for n in (1, 2))
    assert len(different_machines([one, two])) == 2
    assert different_machines([one, one]) == ()


def change_environment(run: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    (file,) = run.rglob("events.jsonl")
    records = read_records(file)
    write_records(
        file, [change(each) if each["kind"] == "environment" else each for each in records]
    )


def warnings_of(*runs: Path) -> tuple[str, ...]:
    return compare_runs(*(strategy_profiles.load(run) for run in runs)).warnings


def test_runs_in_turns_that_all_differ_have_an_answer() -> None:
    comparison = in_turns([20.0, 20.2, 19.9, 20.1], [21.0, 21.1, 21.0, 21.2])
    assert comparison.verdict == "A is faster"
    assert comparison.low is not None
    assert comparison.high is not None
    assert 1.04 < comparison.low < comparison.ratio < comparison.high < 1.07
    assert (len(comparison.pairs), comparison.unit) == (4, "run")


def test_the_ratio_is_that_of_the_two_step_times() -> None:
    comparison = in_turns([20.0, 25.0, 18.0], [21.0, 24.0, 22.0])
    assert comparison.ratio == pytest.approx(comparison.b_ms / comparison.a_ms)
    assert comparison.a_ms == pytest.approx((20 * 25 * 18) ** (1 / 3))


def test_a_drift_that_meets_both_sides_alike_is_not_taken_for_noise() -> None:
    drift = [20.0, 24.0, 29.0, 35.0, 42.0, 50.0]
    comparison = in_turns(drift, [1.05 * (1 + 0.002 * (-1) ** i) * t for i, t in enumerate(drift)])
    assert comparison.verdict == "A is faster"
    assert comparison.ratio == pytest.approx(1.05, abs=0.005)


def test_all_runs_of_a_before_all_of_b_have_an_interval_and_no_answer() -> None:
    comparison = compare_sides(
        runs([20.0, 20.1, 20.2], [0, 1, 2]), runs([30.0, 30.1, 30.3], [3, 4, 5])
    )
    assert comparison.low is not None
    assert comparison.low > 1.4
    assert comparison.verdict == "cannot tell"
    assert "did not alternate" in (comparison.reason or "")


def test_two_runs_a_side_are_too_few() -> None:
    comparison = in_turns([20.0, 20.1], [30.0, 30.1])
    assert (comparison.verdict, comparison.low) == ("cannot tell", None)
    assert "3 or more runs a side" in (comparison.reason or "")


def test_a_run_without_a_neighbour_is_left_out() -> None:
    comparison = compare_sides(
        runs([20.0, 20.1, 20.2, 90.0], [0, 2, 4, 6]), runs([21.0] * 3, [1, 3, 5])
    )
    assert (len(comparison.pairs), comparison.num_left_out) == (3, 1)
    assert comparison.a_ms < 21


def test_neighbours_are_found_by_their_start() -> None:
    assert neighbours([0, 3, 4], [1, 2, 5]) == [(0, 0), (1, 1), (2, 2)]
    assert neighbours([0, 1, 2], [3, 4, 5]) == [(2, 0)]
    assert neighbours([], [1]) == []


def test_more_runs_are_needed_the_more_they_differ() -> None:
    few, many = runs_needed(0.02, 5), runs_needed(0.08, 5)
    assert few < many
    assert many == pytest.approx(16 * few, rel=0.4)
    assert runs_needed(0.0, 5) == 3


def test_as_many_runs_as_needed_find_that_difference() -> None:
    number = runs_assumed(0.05)
    assert difference_found(0.05, number) <= 0.05 < difference_found(0.05, number - 1)


def test_spread_is_pooled_over_specs_of_different_speed() -> None:
    spread = spread_of([[10.0, 10.1, 10.2], [50.0, 50.5, 51.0], [7.0]])
    assert spread is not None
    assert spread.spread == pytest.approx(0.01, rel=0.02)
    assert (spread.freedom, spread.num_runs) == (4, 6)
    assert spread_of([[10.0, 10.1], [7.0]]) is None


@pytest.mark.parametrize(
    ("freedom", "confidence", "value"),
    [(1, 0.95, 12.706), (2, 0.95, 4.303), (5, 0.95, 2.571), (10, 0.8, 1.372), (1e6, 0.95, 1.960)],
)
def test_student_t_is_that_of_the_tables(freedom: float, confidence: float, value: float) -> None:
    assert student_t(freedom, confidence) == pytest.approx(value, abs=0.0006)


def test_a_quantile_without_freedom_is_refused() -> None:
    with pytest.raises(ValueError, match="freedom 0"):
        student_t(0, 0.95)


TIMES = st.lists(st.floats(0.1, 1000), min_size=1, max_size=8)


@pytest.mark.slow
@given(TIMES, TIMES)
def test_swapping_the_sides_inverts_the_answer(a: list[float], b: list[float]) -> None:
    one, other = in_turns(a, b), in_turns(b, a)
    if len(one.pairs) != len(a) or len(b) != len(a):
        return  # who is whose neighbour depends on which side came first
    assert one.ratio * other.ratio == pytest.approx(1.0)
    swapped = {"A is faster": "B is faster", "B is faster": "A is faster"}
    assert other.verdict == swapped.get(one.verdict, one.verdict)
    if one.low is not None and other.high is not None:
        assert math.log(one.low) == pytest.approx(-math.log(other.high), abs=1e-6)


def test_a_number_with_a_short_name_is_that_of_the_summary(tmp_path: Path) -> None:
    """Also where it is missing, with the reason; a comparison reads these numbers alone."""
    known = strategy_profiles.load(
        write_run(tmp_path / "known", replicas=3, steps=60, straggler=(2, 9.0))
    )
    bare = strategy_profiles.load(write_run(tmp_path / "bare", replicas=1, steps=60, windows=0))
    for run in (known, bare):
        lean = compare_runs(run, run)
        (segment,) = run.summary()["segments"]
        for name, metric in METRICS.items():
            if metric.path:
                assert lean.metric(name) == changed_metric(name, [segment], [segment])
    assert compare_runs(known, known).metric("late_ms").a == pytest.approx(9.0, abs=2.0)


def test_no_time_falls_by_more_than_100_percent() -> None:
    """Few runs that differ a lot have an interval that reaches beyond what is possible."""
    a = [{"replicas": [{"transfer_ms": value}]} for value in (0.1, 0.3, 0.2)]
    b = [{"replicas": [{"transfer_ms": value}]} for value in (2.0, 0.1, 0.2)]
    change = changed_metric("transfer_ms", a, b, [(0, 0), (1, 1), (2, 2)])
    assert change.interval is not None
    assert change.interval[0] == -1.0
    assert change.interval[1] > 10.0
    assert change.is_within_noise
    losses = [{"loss": {"last": value}} for value in (0.1, 0.3, 0.2)]
    below = [{"loss": {"last": value}} for value in (-0.9, -0.8, -0.1)]
    of_loss = changed_metric("loss", losses, below).interval
    assert of_loss is not None
    assert of_loss[0] < -1.0


def test_throughput_and_step_time_say_the_same(tmp_path: Path) -> None:
    """Although the mean, which slow steps move, says otherwise."""
    a = strategy_profiles.load(write_run(tmp_path / "a", windows=0, seed=1))
    b = strategy_profiles.load(_with_slow_steps(write_run(tmp_path / "b", windows=0, seed=2)))
    comparison = compare_sets([a], [b], metrics=["steps.examples_per_second"])
    step, rate = (
        comparison.metric(name) for name in ("step_time_ms", "examples_per_second_at_median")
    )
    assert step.change is not None
    assert rate.change is not None
    assert (1 + step.change) * (1 + rate.change) == pytest.approx(1)
    assert abs(step.change) < 0.1
    assert comparison.metric("steps.examples_per_second").change < -0.3  # type: ignore[operator]
    assert rate.a == pytest.approx(256 / comparison.times.a_ms * 1e3)


def _with_slow_steps(run: Path) -> Path:
    """Every fifth step takes five times as long."""
    path = run / "worker-0-0" / "events.jsonl"
    records = read_records(path)
    for record in records:
        if record["kind"] == "step" and record["step"] % 5 == 4:
            record["wall_ms"] *= 5
    write_records(path, records)
    return run


def test_workers_that_step_apart_are_compared_by_steps_in_a_row() -> None:
    """Two results come right after each other, then none for 30 ms."""
    gaps = [900.0, *[1.0, 29.0] * 40]
    time = run_time(steps_of(gaps, []), num_apart=2)
    assert time is not None
    assert (time.median_ms, time.num_steps) == (15.0, 80)


def test_the_answer_for_a_run_and_itself_says_so_and_advises_no_repetitions(tmp_path: Path) -> None:
    run = strategy_profiles.load(write_run(tmp_path / "run", steps=30, windows=0))
    compared = compare_runs(run, run)
    assert "".join(answer(compared)) == (
        "A and B are the same: segment 0 of run is compared with itself."
    )
    assert remarks(compared) == ("Name another run, or another segment of this one.",)


@pytest.mark.parametrize(("step_ms", "advised"), [(9.0, True), (600.0, False)])
def test_longer_runs_are_advised_where_the_runs_are_short(
    tmp_path: Path, step_ms: float, advised: bool
) -> None:
    pair = [
        strategy_profiles.load(write_run(tmp_path / name, steps=61, windows=0, step_ms=step_ms))
        for name in "ab"
    ]
    remarks_text = " ".join(remarks(compare_runs(*pair)))
    assert ("Record longer runs first" in remarks_text) == advised


def test_runs_of_other_programs_are_repeated_by_their_own_command(tmp_path: Path) -> None:
    a, b = (
        strategy_profiles.load(write_run(tmp_path / name, steps=61, windows=0)) for name in "ab"
    )
    compared = compare_runs(a, b)
    assert "strategy-lab run A.yaml --interleave" in " ".join(remarks(compared))
    traced = replace(compared, a=tuple(replace(run, spec=None) for run in compared.a))
    remarks_text = " ".join(remarks(traced))
    assert "strategy-lab trace -o A-1 program.py" in remarks_text
    assert "--interleave" not in remarks_text
    assert "--steps" not in remarks_text


def test_runs_of_different_programs_are_said_to_be_so(tmp_path: Path) -> None:
    a, b = (
        strategy_profiles.load(write_run_of_program(tmp_path / name, 1, file=f"/home/user/{name}"))
        for name in ("cnn.py", "lstm.py")
    )
    assert "These are runs of different programs: cnn.py and lstm.py." in (
        compare_runs(a, b).warnings
    )


def test_the_tiles_of_a_side_have_the_loop_first_and_the_step_second(tmp_path: Path) -> None:
    a, b = (
        strategy_profiles.load(write_run(tmp_path / name, steps=60, windows=0)) for name in "ab"
    )
    _, first, second, ratio = comparison(compare_runs(a, b)).numbers
    assert (first.key, second.key, ratio.key) == ("loop_time", "loop_time", "ratio")
    assert "examples/s; the step itself" in first.note


def test_repetitions_that_differ_little_need_no_longer_runs(tmp_path: Path) -> None:
    a, b = (
        [
            strategy_profiles.load(
                write_run(
                    tmp_path / f"{side}{i}",
                    steps=60,
                    windows=0,
                    begins_s=10.0 * (2 * i + (side == "b")),
                )
            )
            for i in range(3)
        ]
        for side in "ab"
    )
    assert "longer runs" not in " ".join(remarks(compare_sets(a, b)))
