"""One row of a list of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_profiles.analysis.run_row import SPARK_POINTS, run_row
from strategy_profiles.tables.store import load
from tests.synthetic import write_run


def test_the_row_of_a_run_has_strategies_workload_steps_and_speed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=300, windows=0, segments=[{}, {"replicas": 2}])
    seen = run_row(load(run))
    assert seen.strategies == ("mirrored ×4", "mirrored ×2")
    assert (seen.workload, seen.num_replicas, seen.num_steps) == ("digits-cnn", 2, 300)
    assert seen.step_ms == pytest.approx(23.7, rel=0.05)
    assert len(seen.spark_ms) == SPARK_POINTS
    assert max(seen.spark_ms) < 30, "a tracing step is no part of the curve"


@pytest.mark.parametrize("steps", [0, 1])
def test_a_run_of_hardly_any_step(tmp_path: Path, steps: int) -> None:
    seen = run_row(load(write_run(tmp_path / "run", steps=steps, windows=0, ending="failed")))
    assert seen.num_steps == steps
    assert seen.step_ms is None, "a first step is traced and compiled"
    assert seen.spark_ms == ()
