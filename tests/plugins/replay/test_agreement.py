"""Prediction beside measurement: when they agree, when not, and when that stays open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_profiles.analysis.compare.run_comparison import RunComparison, compare_sets
from strategy_profiles.step_graph.recording import ReplayError
from strategy_replay.engine.edits import RemoveDelay
from strategy_replay.engine.spec_edits import edit_of
from strategy_replay.engine.what_if import WhatIf
from strategy_replay.trying.agreement import agreement
from tests.synthetic import write_run

DATA = Path(__file__).parents[2] / "data"


def runs_of(
    folder: Path, a_ms: Sequence[float], b_ms: Sequence[float], **of_b: Any
) -> RunComparison:
    """Runs in turns, with these step times."""
    sides: dict[str, list[strategy_profiles.Profile]] = {"a": [], "b": []}
    for number, lengths in enumerate(zip(a_ms, b_ms, strict=True)):
        for index, (side, step_ms) in enumerate(zip("ab", lengths, strict=True)):
            run = write_run(
                folder / f"x-{side}-{number}",
                steps=40,
                windows=0,
                marks=False,
                placement=False,
                memory=False,
                noise=0.0,
                step_ms=step_ms,
                begins_s=60.0 * (2 * number + index),
                **(of_b if side == "b" else {}),
            )
            sides[side].append(strategy_profiles.load(run))
    return compare_sets(sides["a"], sides["b"])


def predicted_of(ratio: float) -> WhatIf:
    """A prediction, certain to 5 %, from a run whose step took 100 ms."""
    step_ms = 100.0 * ratio
    return WhatIf(
        segment=0,
        edits=("changed",),
        num_steps=9,
        measured_ms=100.0,
        replayed_ms=100.0,
        replay_error=0.01,
        replay_error_p95=0.02,
        unexplained_ms=0.0,
        predicted_ms=step_ms,
        low_ms=0.75 * step_ms,
        high_ms=1.33 * step_ms,
        least_ms=0.95 * step_ms,
        most_ms=1.05 * step_ms,
        run_spread=0.1,
        num_other_runs=0,
    )


@pytest.fixture(scope="module")
def half_as_long(tmp_path_factory: pytest.TempPathFactory) -> RunComparison:
    """Runs that take about half as long with the change, on a faster machine than before."""
    return runs_of(tmp_path_factory.mktemp("half"), (50.0, 50.5, 49.5), (25.0, 25.2, 24.8))


def test_intervals_that_overlap_agree_whatever_the_speed_of_the_machine(
    half_as_long: RunComparison,
) -> None:
    verdict = agreement(predicted_of(1.04 * half_as_long.times.ratio), half_as_long)
    assert verdict.verdict == "agree"
    assert "agree: their intervals overlap" in verdict.sentence
    assert verdict.error == pytest.approx(0.04)
    assert verdict.measured.with_ms == pytest.approx(half_as_long.times.b_ms)
    assert verdict.predicted is not None
    assert verdict.predicted.without_ms == 100.0


def test_intervals_apart_disagree_and_say_by_how_much(half_as_long: RunComparison) -> None:
    verdict = agreement(predicted_of(1.5 * half_as_long.times.ratio), half_as_long)
    assert verdict.verdict == "disagree"
    said = "relative to a step without the change, the predicted one is 50 % longer than the"
    assert said in verdict.sentence


def test_runs_that_may_show_no_effect_decide_nothing(tmp_path: Path) -> None:
    noisy = runs_of(tmp_path, (50.0, 80.0, 40.0), (45.0, 40.0, 60.0))
    verdict = agreement(predicted_of(0.5), noisy)
    assert verdict.verdict == "cannot tell"
    assert "more pairs of runs" in verdict.sentence


def test_one_run_a_side_has_no_interval(tmp_path: Path) -> None:
    verdict = agreement(predicted_of(0.5), runs_of(tmp_path, (50.0,), (25.0,)))
    assert verdict.verdict == "cannot tell"
    assert verdict.measured.between == ""
    assert "one run a side" in verdict.sentence


def test_without_a_prediction_only_the_effect_is_reported(half_as_long: RunComparison) -> None:
    verdict = agreement(None, half_as_long)
    assert verdict.predicted is None
    assert verdict.error is None
    assert re.match(
        "The step takes [0-9]+ % less time with the change, more than", verdict.sentence
    )


def test_steps_of_another_batch_are_compared_by_their_examples(tmp_path: Path) -> None:
    twice = runs_of(tmp_path, (50.0, 50.5, 49.5), (75.0, 75.5, 74.5), global_batch_size=512)
    assert twice.times.ratio > 1
    sentence = agreement(None, twice).sentence
    assert re.match("An example takes [0-9]+ % less time with the change, more than", sentence)


def test_only_changes_that_an_edit_represents_are_predicted() -> None:
    run = strategy_profiles.load(DATA / "captured_step")
    assert edit_of(run, 0, {"inject": []}) == RemoveDelay()
    assert edit_of(run, 0, {"inject": [{"replica": 0, "ms": 5}]}) is None
    assert edit_of(run, 0, {"xla": True}) is None
    assert edit_of(run, 0, {"inject": [], "devices": "cpu:2"}) is None
    with pytest.raises(ReplayError):  # a single captured step
        edit_of(run, 0, {"global_batch_size": 512})
