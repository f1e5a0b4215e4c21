"""What packages predict, and what is said if no package does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_profiles import predictors
from strategy_profiles.analysis.facts import Gain
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.errors import LabError
from strategy_profiles.predictors import NO_PREDICTOR, Interval, Predictor
from strategy_profiles.tables.store import Profile
from tests.synthetic import write_run

GAIN = Gain(17.0, 16.0, 18.0, 47.0, 0.01, 1.0, False, False, "Without it a step takes 17 ms")
REMOVAL = Removal("no-delay")


@pytest.fixture
def late(tmp_path: Path) -> Profile:
    return strategy_profiles.load(
        write_run(tmp_path / "late", replicas=2, steps=60, straggler=(1, 30.0))
    )


def install(monkeypatch: pytest.MonkeyPatch, *installed: Predictor) -> None:
    by_name = {str(number): each for number, each in enumerate(installed)}
    monkeypatch.setattr(predictors, "loaded", lambda *_: (by_name, {}))


def refuses(*_: Any) -> Any:
    raise LabError("Too few steps")


def test_without_a_predictor_nothing_is_predicted_and_the_summary_says_so(
    late: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch)
    assert not predictors.predicts_gains()
    assert predictors.predicted_step([late], 4) is None
    assert predictors.error_of(late, 0) is None
    assert predictors.gain_without(late, 0, REMOVAL) == NO_PREDICTOR
    (segment,) = strategy_profiles.load(late.path).summary(gains=True)["segments"]
    straggler = next(item for item in segment["findings"] if item["key"] == "straggler")
    assert (straggler["gain"], straggler["gain_reason"]) == (None, NO_PREDICTOR)


def test_the_first_predictor_that_has_an_answer_gives_it(
    late: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = Predictor(lambda *_: Interval(1.0, 2.0))
    install(monkeypatch, Predictor(gain=refuses), paper, Predictor(gain=lambda *_: GAIN))
    assert predictors.predicts_gains()
    assert predictors.gain_without(late, 0, REMOVAL) == GAIN
    assert predictors.predicted_step([late], 4) == (1.0, 2.0)


def test_why_a_predictor_has_no_answer_is_the_reason(
    late: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Predictor(refuses, refuses, refuses))
    assert predictors.gain_without(late, 0, REMOVAL) == "Too few steps."
    assert predictors.predicted_step([late], 4) is None
    assert predictors.error_of(late, 0) is None
