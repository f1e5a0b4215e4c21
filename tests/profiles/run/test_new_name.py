"""Names of new runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_lab.profiles.run.new_name import new_name
from strategy_lab.profiles.spec.run_spec import parse_spec


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"devices": "cpu:4"}, "mirrored-cpu4-digits-cnn-1"),
        ({}, "mirrored-digits-cnn-1"),
        (
            {"strategy": "multi-worker-mirrored", "workers": 3, "devices": "gpu:0,gpu:1"},
            "multi-worker-mirrored-3-workers-gpu0-gpu1-digits-cnn-1",
        ),
        ({"workload": "/home/me/my model (2).py"}, "mirrored-my-model-2-1"),
        ({"workload": "/x/日本.py"}, "mirrored-1"),
    ],
)
def test_a_name_says_what_was_asked(fields: dict[str, object], name: str, tmp_path: Path) -> None:
    assert new_name(tmp_path / "not there yet", parse_spec(fields)) == name


def test_a_name_is_numbered_after_the_highest_one(tmp_path: Path) -> None:
    taken_names = ("2", "9-a-1", "x", "x-12")
    for taken in (f"mirrored-digits-cnn-{ending}" for ending in taken_names):
        (tmp_path / taken).mkdir()
    assert new_name(tmp_path, parse_spec({})) == "mirrored-digits-cnn-10"
