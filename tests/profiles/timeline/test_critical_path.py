"""The critical path of a real step on the rows of its timeline; refused where it is not known."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.errors import LabError
from strategy_profiles.step_graph.recording import read_recording
from strategy_profiles.timeline import lay_out
from strategy_profiles.timeline.critical_path import path_of_step
from tests.synthetic import write_run


@pytest.mark.run
def test_the_parts_cover_the_step_and_ops_lie_on_rows_of_their_spans(finished_run: Path) -> None:
    profile = strategy_profiles.load(finished_run)
    timeline = lay_out(profile)
    recording = read_recording(profile, 1)
    step = recording.steps[0]
    begin, end = (at - timeline.origin_ns for at in recording.bounds[step])
    parts = path_of_step(profile, timeline, step)
    assert parts[0].from_ns == pytest.approx(begin, abs=2)
    assert parts[-1].to_ns == pytest.approx(end, abs=2)
    for before, after in itertools.pairwise(parts):
        assert after.from_ns == pytest.approx(before.to_ns, abs=2)
    ops = [part for part in parts if part.kind == "compute"]
    assert ops
    assert sum(part.row is not None for part in ops) > 0.9 * len(ops)


def test_steps_without_captured_ops_are_refused(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=20, windows=1))
    timeline = lay_out(profile)
    captured = timeline.steps["step"][0]
    with pytest.raises(LabError, match="graph of segment 0 is missing"):
        path_of_step(profile, timeline, captured)
    with pytest.raises(LabError, match="is not captured"):
        path_of_step(profile, timeline, 10**6)
