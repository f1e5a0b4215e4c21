"""What a replay predicts without a planted cause is near a program that does not have it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strategy_lab import profiles
from strategy_lab.profiles.replay.edits import InputFree
from strategy_lab.profiles.replay.what_if import what_if

pytestmark = [pytest.mark.run, pytest.mark.slow]


def test_a_fit_that_waits_for_its_batch_inside_the_step_is_fast_without_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.planted.program", "generator", str(tmp_path / "run")]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    here = Path(__file__).parents[2]
    subprocess.run(command, check=True, timeout=240, env=environment, cwd=here)
    found = what_if(profiles.load(tmp_path / "run"), 0, [InputFree()])
    assert found.measured_ms > 45
    assert found.replay_error < 0.2
    assert found.high_ms < 0.6 * found.measured_ms
