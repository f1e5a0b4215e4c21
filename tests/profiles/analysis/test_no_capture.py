"""A run without captured steps says why, and what helps."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.breakdown import step_breakdown
from strategy_profiles.analysis.communication import communication
from strategy_profiles.analysis.no_capture import LOST, why_no_capture
from strategy_profiles.step_graph.recording import ReplayError, read_recording
from tests.replaced import replace
from tests.synthetic import write_run


def test_a_run_that_ended_in_its_first_step_says_where_the_reason_is(tmp_path: Path) -> None:
    """More captures would not have helped."""
    profile = strategy_profiles.load(
        write_run(tmp_path / "run", steps=0, windows=0, ending="failed")
    )
    said = "This run recorded no step.", "It ended in its first step: the page Why says how."
    assert why_no_capture(profile) == said
    with pytest.raises(ReplayError, match="This run recorded no step") as refusal:
        read_recording(profile, 0)
    assert refusal.value.advice == "Run it again, and let it do some steps"


def test_a_run_without_captures_is_to_be_captured(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=20, windows=0))
    why, advice = why_no_capture(profile)
    assert why == "No step of this run was captured in full."
    assert "Capture every step in full" in advice
    with pytest.raises(ReplayError, match="no captured step") as refusal:
        read_recording(profile, 0)
    assert "Capture every step in full" in str(refusal.value.advice)


def test_a_run_that_captured_all_its_steps_is_to_train_longer(tmp_path: Path) -> None:
    """To capture every step is what it did."""
    run = write_run(tmp_path / "run", steps=4, windows=0, every_step=True)
    profile = strategy_profiles.load(run)
    with pytest.raises(ReplayError, match="no captured step") as refusal:
        read_recording(profile, 0)
    assert "10 steps or more" in str(refusal.value.advice)
    assert "every_step" not in str(refusal.value.advice)


@pytest.mark.parametrize("lost", ["replica_steps", "spans"])
@pytest.mark.parametrize("is_deleted", [True, False])
def test_captures_whose_files_are_lost_are_not_said_to_be_missing(
    tmp_path: Path, lost: str, is_deleted: bool
) -> None:
    """They were recorded: to capture more steps would not have helped."""
    run = write_run(tmp_path / "run", steps=200, checksums=True, marks=False, missing=("merged",))
    files = list(run.rglob(f"{lost}.parquet"))
    assert files
    for file in files:
        file.unlink() if is_deleted else file.write_bytes(file.read_bytes()[:100])
    profile = strategy_profiles.load(run)
    segment = profile.segments[0]
    profile.table(lost)
    assert why_no_capture(profile)[0] == f"No captured step of this run can be read: {LOST}."
    if lost == "replica_steps":
        assert step_breakdown(profile, segment).reason == LOST
        assert communication(profile, segment).reason == LOST
        with pytest.raises(ReplayError, match=LOST):
            read_recording(profile, 0)


def test_a_run_that_goes_on_is_to_be_waited_for(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=20, windows=0))
    running = replace(profile, status=replace(profile.status, state="running"))
    assert why_no_capture(running)[1] == "The first capture follows soon after the start."
