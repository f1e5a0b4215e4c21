"""Of a long run some steps are replayed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from benchmarks.big_profile import add_graph
from strategy_profiles.step_graph.recording import StepRows, read_rows
from strategy_profiles.tables.store import Profile, load
from strategy_replay.engine import replays as replays_of_a_segment
from strategy_replay.engine.replays import FEWEST_REPLAYED, replays
from tests.synthetic import write_run


@pytest.mark.parametrize(("ops_per_step", "num_reads"), [(24, 1), (400, 2)])
def test_small_steps_are_searched_for_once(
    ops_per_step: int, num_reads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a long run that takes as long as their replay. Of large ones a graph tells how many."""
    steps, windows = FEWEST_REPLAYED + 40, 5
    run = write_run(tmp_path / "run", steps=steps, windows=windows, ops_per_step=ops_per_step)
    add_graph(run)
    reads = []

    def noting(profile: Profile, segment: int, steps: Collection[int]) -> StepRows:
        reads.append(len(steps))
        return read_rows(profile, segment, steps)

    monkeypatch.setattr(replays_of_a_segment, "read_rows", noting)
    assert len(replays(load(run), 0).steps) == reads[-1] > 1
    assert len(reads) == num_reads
