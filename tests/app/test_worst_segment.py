"""Where a run loses most time: the segment that Why opens on, the step that the timeline shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategy_profiles
from strategy_app.server.timelines import Timelines
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.analysis.steps import step_times, typical_captured_steps
from tests.synthetic import write_run

USUAL: dict[str, Any] = {}
LATE = {"straggler": (2, 30.0)}


@pytest.mark.parametrize(
    ("segments", "worst"),
    [
        ((USUAL, LATE, USUAL), 1),
        ((LATE, USUAL, USUAL), 0),
        ((USUAL, USUAL, USUAL), 2),
        # Twice the batch in twice the time is no loss.
        ((USUAL, {"global_batch_size": 512, "step_ms": 43.0}, USUAL), 2),
    ],
)
def test_the_segment_with_the_fault_is_the_worst(
    segments: tuple[dict[str, Any], ...], worst: int, tmp_path: Path
) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=40, segments=segments))
    found = headline_segment(profile)
    assert found is not None
    assert found.segment == worst


@pytest.mark.parametrize(("is_of_lab", "shown"), [(True, 0), (False, 1)])
def test_of_a_traced_program_the_segment_that_takes_most_time_is_shown(
    is_of_lab: bool, shown: int, tmp_path: Path
) -> None:
    """Its segments are models that it trains, and no tries of one step."""
    long = {"tracing_ms": 60_000.0}
    run = write_run(tmp_path, steps=60, segments=(LATE, long, USUAL), is_of_lab=is_of_lab)
    found = headline_segment(strategy_profiles.load(run))
    assert found is not None
    assert found.segment == shown


def test_its_longest_typical_captured_step_is_shown(tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "run", steps=60, segments=(USUAL, LATE, USUAL))
    first_view = Timelines(run.parent).describe(run.name)["opens_at"]
    profile = strategy_profiles.load(run)
    steps = step_times(profile, 1)
    typical = np.isin(steps.step, typical_captured_steps(profile, 1))
    assert typical.any()
    assert first_view == steps.step[typical][np.argmax(steps.wall_ms[typical])]


def test_the_timeline_knows_the_late_one_of_many_replicas(tmp_path: Path) -> None:
    write_run(tmp_path / "late", replicas=16, steps=60, straggler=(11, 30.0))
    write_run(tmp_path / "even", replicas=16, steps=60)
    write_run(tmp_path / "few", replicas=4, steps=60, straggler=(2, 30.0))
    timelines = Timelines(tmp_path)
    late = [timelines.describe(name)["late"] for name in ("late", "even", "few")]
    assert late == [11, None, None]


def test_without_a_capture_no_step_is_shown(tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "run", steps=20, windows=0)
    assert Timelines(run.parent).describe(run.name)["opens_at"] is None
