"""Scenes are recorded live, by real processes: a program and a run of the lecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strategy_contexts.lecture.course import scenes
from strategy_contexts.lecture.shown import LIVE, as_recorded, recorded_live
from strategy_core.launcher.launcher import Launcher

pytestmark = pytest.mark.run
SCENES = {scene.name: scene for scene in scenes()}


@pytest.mark.long(keep=1)
@pytest.mark.parametrize("name", ["merge_call", "bytes_of_a_ring"])
def test_a_live_recording_answers_as_the_one_of_the_lab(
    launcher: Launcher, tmp_path: Path, name: str
) -> None:
    def launch(spec: Any, run: str) -> Any:
        return launcher.launch(spec, tmp_path / run)

    live = recorded_live(SCENES[name], launch, tmp_path)
    shipped = as_recorded(SCENES[name]).question
    assert (live.question.choices, live.question.right) == (shipped.choices, shipped.right)
    assert live.origin == LIVE
    assert "<html" in live.picture()
    assert (live.run is not None) == bool(live.setup)
