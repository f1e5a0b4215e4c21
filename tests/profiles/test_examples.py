"""The recorded runs that come with the lab: each has a cause to look at."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.findings import gather_facts, main_finding
from strategy_profiles.errors import LabError
from strategy_profiles.examples import EXAMPLES, Example, unpack

CAUSES = {"late-replica": "straggler", "slow-input": "input-bound", "gpu": "input-bound"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_an_example_is_a_whole_run_with_a_cause(example: Example, tmp_path: Path) -> None:
    profile = strategy_profiles.load(unpack(example, tmp_path / "runs"))
    assert not profile.notes
    cause = main_finding(gather_facts(profile, profile.segments[0]))
    assert cause is not None
    assert cause.key == CAUSES[example.name]


def test_an_example_that_is_there_already_is_kept(tmp_path: Path) -> None:
    run = unpack(EXAMPLES[0], tmp_path)
    (run / "mine").touch()
    assert unpack(EXAMPLES[0], tmp_path) == run
    assert (run / "mine").exists()
    assert [path.name for path in tmp_path.iterdir()] == [run.name]


def test_a_folder_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with pytest.raises(LabError, match="cannot be written"):
        unpack(EXAMPLES[0], tmp_path / "runs")
