"""What the segments of a run are called."""

from __future__ import annotations

from pathlib import Path

from strategy_app.widgets.segments import segment_titles
from strategy_profiles import load
from tests.synthetic import write_run


def test_segments_that_look_alike_are_called_by_what_was_changed(tmp_path: Path) -> None:
    alike = [{}, {"seed": 7}, {"replicas": 2}]
    run = write_run(tmp_path / "run", steps=60, segments=alike)
    titles = segment_titles(load(run).segments)
    assert titles == {0: "mirrored ×4, batch 256", 1: "seed 0 → 7", 2: "mirrored ×2, batch 256"}
