"""The ends of epochs: which count, what is said of them, and that they are no other gap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import strategy_profiles
from strategy_profiles.analysis.between_steps import between_steps
from strategy_profiles.analysis.epoch_ends import epoch_ends
from strategy_profiles.timeline import lay_out
from strategy_profiles.timeline.epoch_ends import epoch_ends_of
from tests.synthetic import write_run

STEPS = 120


def _ends(*lengths_ms: float, **more: Any) -> list[dict[str, Any]]:
    return [
        {"step": 20 * number + 19, "wall_ms": length_ms, **more}
        for number, length_ms in enumerate(lengths_ms)
    ]


def test_the_last_end_and_those_at_a_window_do_not_count(tmp_path: Path) -> None:
    """Windows of the run begin at steps 1, 37 and 73 and have 10 steps each."""
    ends = [{"step": step, "wall_ms": 500.0} for step in (10, 40, 72, STEPS - 1)]
    run = write_run(tmp_path / "run", replicas=2, steps=STEPS, windows=3, epoch_ends=ends)
    profile = strategy_profiles.load(run)
    windows = profile.table("steps").filter(profile.table("steps")["captured"])["step"].to_pylist()
    assert {10, 40, 73} <= set(windows)
    assert not {11, 72} & set(windows)
    assert [end.step for end in epoch_ends(profile, 0).ends] == [40]


def test_an_epochs_end_is_no_other_gap(tmp_path: Path) -> None:
    without, with_ends = (
        strategy_profiles.load(
            write_run(tmp_path / name, replicas=2, steps=STEPS, windows=0, epoch_ends=ends)
        )
        for name, ends in (("a", []), ("b", _ends(500.0, 500.0, 500.0)))
    )
    gaps = [between_steps(profile, 0).gaps_ms for profile in (without, with_ends)]
    assert len(gaps[0]) - len(gaps[1]) == 3


def test_the_summary_has_the_ends_or_why_there_are_none(tmp_path: Path) -> None:
    summaries = []
    for name, ends in (("a", []), ("b", _ends(500.0, 700.0))):
        run = write_run(tmp_path / name, replicas=2, steps=STEPS, windows=0, epoch_ends=ends)
        summaries.append(strategy_profiles.load(run).summary()["segments"][0]["epoch_ends"])
    assert summaries[0]["count"] == 0
    assert summaries[0]["total_ms"] is None
    assert "no end of an epoch" in summaries[0]["total_ms_reason"]
    assert (summaries[1]["count"], summaries[1]["total_ms"], summaries[1]["median_ms"]) == (
        2,
        1200,
        600,
    )
    assert "one of the callbacks" in summaries[1]["callbacks_ms_reason"]


def test_the_timeline_has_ends_of_epochs_between_its_steps(tmp_path: Path) -> None:
    ends = [{"step": 19, "wall_ms": 500.0, "validation_ms": 400.0}, {"step": 39, "wall_ms": 50.0}]
    run = write_run(tmp_path / "run", replicas=2, steps=STEPS, windows=3, epoch_ends=ends)
    profile = strategy_profiles.load(run)
    timeline = lay_out(profile)
    drawn_ends = epoch_ends_of(profile, timeline)
    assert [each["text"] for each in drawn_ends] == [
        "end of an epoch, 500 ms, most of it validation",
        "end of an epoch, 50.0 ms",
    ]
    ended = profile.table("steps")["start_ns"].to_numpy() - timeline.origin_ns
    assert np.abs(drawn_ends[0]["start"] - ended[20]) < 1e5
    assert drawn_ends[0]["end"] - drawn_ends[0]["start"] == 500_000_000
