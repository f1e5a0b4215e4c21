"""Steps of one call are equal parts of it, and a first call is traced as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import strategy_profiles
from strategy_profiles.analysis.steps import (
    calls_of,
    of_whole_calls,
    step_times,
    timed_steps,
)
from strategy_profiles.run.events import OWN_PROFILER
from tests.synthetic import write_run

EPOCH_NS = 1_760_000_000_000_000_000


def starts_of(walls_ms: list[float], gaps_ms: list[float]) -> np.ndarray:
    """When steps begin, each `gaps_ms` after the end of the one before."""
    begins = np.cumsum([0.0, *(wall + gap for wall, gap in zip(walls_ms, gaps_ms, strict=False))])
    starts: np.ndarray = EPOCH_NS + (begins[: len(walls_ms)] * 1e6).astype(np.int64)
    return starts


def test_equal_steps_that_follow_each_other_are_one_call() -> None:
    walls = [251.93, 251.93, 251.93, 33.29, 33.29, 33.29, 1.22]
    starts = starts_of(walls, [0.0, 0.0, 0.4, 0.0, 0.0, 0.3, 0.0])
    assert calls_of(starts, np.array(walls)).tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_steps_apart_from_each_other_are_calls_of_their_own() -> None:
    walls = [2.0, 2.0, 2.1]
    assert calls_of(starts_of(walls, [0.01, 0.0, 0.0]), np.array(walls)).tolist() == [0, 1, 2]
    assert calls_of(np.zeros(0, np.int64), np.zeros(0)).tolist() == []


def test_a_traced_step_makes_its_whole_call_a_traced_one() -> None:
    call = np.array([0, 0, 1, 1])
    assert of_whole_calls(np.array([False, False, True, False]), call).tolist() == [
        False, False, True, True,
    ]  # fmt: skip


def test_one_bare_call_of_many_steps_does_not_replace_the_captured_ones() -> None:
    settled = np.ones(12, bool)
    captured = np.array([False] * 4 + [True] * 8)
    call = np.repeat([1, 2, 3], 4)
    assert timed_steps(settled, captured, call).all()
    assert not timed_steps(settled, captured, np.arange(12))[4:].any()


def test_steps_with_the_programs_own_profiler_on_are_in_no_step_time(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=60)
    with (run / "worker-0-0" / "events.jsonl").open("ab") as file:
        ends = [9, 20]
        note = {"kind": "note", "level": "info", "message": "On.", "fields": {OWN_PROFILER: ends}}
        file.write(json.dumps(note).encode() + b"\n")
    steps = step_times(strategy_profiles.load(run), 0)
    assert steps.count == 60
    assert not steps.timed[9:21].any()
    assert steps.timed.sum() > 20
