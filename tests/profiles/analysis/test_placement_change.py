"""What a live reconfiguration moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from profiles.analysis.placement_change import placement_change
from profiles.store import Profile, load
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return load(write_run(folder, steps=20, windows=0, segments=[{}, {"replicas": 2}, {}]))


def test_fewer_replicas_lose_their_ops_and_copies(profile: Profile) -> None:
    found = placement_change(profile, 0, 1)
    assert {change.how for change in found.changes if change.kind == "op"} == {"gone"}
    variables = [change for change in found.changes if change.kind == "variable"]
    assert variables == list(found.changes[: len(variables)]), "variables come first"
    for change in variables:
        assert change.how == "moved"
        assert set(change.after) < set(change.before)
    assert found.num_same > 0


def test_back_again_is_the_same_the_other_way_round(profile: Profile) -> None:
    there, back = placement_change(profile, 0, 1), placement_change(profile, 1, 2)
    assert len(there.changes) == len(back.changes)
    assert {change.how for change in back.changes} == {"added", "moved"}
    assert placement_change(profile, 0, 2).changes == ()


def test_no_placement_is_no_answer_and_says_which(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=20, windows=0, segments=2, placement=False)
    found = placement_change(load(run), 0, 1)
    assert found.reason == "segment 0 recorded no placement"
