"""Workers of several hosts on one timeline: one clock, and every rank, captured or not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategy_profiles
from strategy_profiles.timeline import cut_view, lay_out
from strategy_profiles.timeline.one_clock import MARKED, table_on_one_clock
from tests.synthetic import TWO_HOSTS, write_run

MS = 1_000_000


def load(path: Path, **options: Any) -> strategy_profiles.Profile:
    known = TWO_HOSTS | {"steps": 120, "straggler": (3, 30.0), "collective_bytes": (2_097_152,)}
    return strategy_profiles.load(write_run(path / "run", **(known | options)))


def test_ranks_without_a_capture_are_drawn_from_their_marks(tmp_path: Path) -> None:
    timeline = lay_out(load(tmp_path))
    assert [(track.worker, track.replica) for track in timeline.tracks] == [
        (0, 0),
        (0, 1),
        (1, 2),
        (1, 3),
    ]
    assert [track.is_marked for track in timeline.tracks] == [False, False, True, True]
    assert "against the reference" in timeline.tracks[2].clock
    row = timeline.tracks[3].first_row
    part = slice(timeline.row_starts[row], timeline.row_starts[row + 1])
    kinds = [timeline.categories[number] for number in timeline.category[part][:3]]
    assert kinds == ["input", "compute", "collective"]
    assert all(timeline.ops[op].endswith(MARKED) for op in timeline.op[part])


def test_all_ranks_of_an_all_reduce_end_together(tmp_path: Path) -> None:
    timeline = lay_out(load(tmp_path))
    ends = timeline.links["end"][np.argsort(timeline.links["group"], kind="stable")].reshape(-1, 4)
    assert len(ends) == 30
    assert np.ptp(ends, axis=1).max() < 0.2 * MS
    first, last = timeline.steps["start"][0], timeline.steps["end"][0]
    (ranks,) = cut_view(timeline, first, last, 1500).links
    latest = max(ranks, key=lambda rank: rank[1])
    assert latest[0] == timeline.tracks[3].first_row


def test_without_a_known_clock_the_timeline_says_so(tmp_path: Path) -> None:
    timeline = lay_out(load(tmp_path, clock_measured=False))
    assert "not compared with any other" in timeline.tracks[2].clock


def test_without_captures_marks_show_all_ranks(tmp_path: Path) -> None:
    timeline = lay_out(load(tmp_path, windows=0))
    assert [track.is_marked for track in timeline.tracks] == [True] * 4
    assert len(timeline.steps["step"]) == 120
    assert timeline.num_spans == 120 * 4 * 3


def test_one_worker_is_left_as_it_is(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", steps=40))
    assert table_on_one_clock(profile, "spans") is profile.table("spans")
    assert [track.clock for track in lay_out(profile).tracks] == ["host-0"] * 4


@pytest.mark.parametrize("missing", ["spans", "collectives", "replica_steps"])
def test_a_missing_table_leaves_the_rest(missing: str, tmp_path: Path) -> None:
    timeline = lay_out(load(tmp_path, missing=(missing,)))
    assert {track.worker for track in timeline.tracks} >= {1}
