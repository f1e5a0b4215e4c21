"""What a replay predicts of a planted program is near a program without the planted cause."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_replay.engine.edits import InputFree
from strategy_replay.engine.what_if import what_if
from tests.foreign.both_ways import runner

pytestmark = [pytest.mark.run, pytest.mark.slow, pytest.mark.alone]


def test_a_fit_that_waits_for_its_batch_inside_the_step_is_fast_without_it(tmp_path: Path) -> None:
    run = tmp_path / "generator"
    with runner(tmp_path) as running:
        arguments = ("generator", str(run))
        ran = running.run("tests.planted.program", is_traced=False, arguments=arguments)
    assert ran.code == 0, ran.errors
    prediction = what_if(strategy_profiles.load(run), 0, [InputFree()])
    assert prediction.measured_ms > 45
    assert prediction.replay_error < 0.2
    assert prediction.most_ms < 0.6 * prediction.measured_ms
