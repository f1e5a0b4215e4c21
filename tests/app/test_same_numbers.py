"""Live page, Overview, report and command line give the same number for the same thing.

One run with a late replica, traced steps, and captured steps that took longer than the others.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strategy_lab import profiles
from strategy_lab.app.live.live_run import LiveRun
from strategy_lab.profiles.analysis.glance import glance
from strategy_lab.profiles.analysis.key_numbers import KeyNumbers, segment_numbers
from strategy_lab.profiles.analysis.summary import summarize
from tests.app.told_numbers import check_texts, live
from tests.synthetic import write_run

RETRACED = [{"step": 50, "function": "train_step", "num_traces": 1}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "late"
    write_run(run, steps=120, straggler=(2, 30.0), also_late=(1, 12.0), retraced=RETRACED)
    return _slowed(run, captured_ms=40.0, retraced_ms=5_000.0)


def _slowed(run: Path, *, captured_ms: float, retraced_ms: float) -> Path:
    """Captured and retraced steps take longer, as they do in real runs."""
    path = run / "worker-0-0" / "events.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        if record["kind"] == "step":
            record["wall_ms"] += captured_ms * record["captured"]
            record["wall_ms"] += retraced_ms * (record["step"] == RETRACED[0]["step"])
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return run


@pytest.fixture(scope="module")
def numbers(run: Path) -> KeyNumbers:
    profile = profiles.load(run)
    return segment_numbers(profile, profile.segments[0])


def test_traced_and_captured_steps_are_in_no_median(numbers: KeyNumbers) -> None:
    # 20 ms of compute, 3.5 of the rest, 30 late; 120 steps less 30 captured, the first and one.
    assert numbers.num_timed == 120 - 30 - 2
    assert numbers.step_ms == pytest.approx(53.5, rel=0.05)


def test_the_live_page_tells_the_numbers_of_the_whole_run_once_it_is_over(
    run: Path, numbers: KeyNumbers
) -> None:
    told = live(run)
    assert told["of"] == "all"
    assert told["num_timed"] == numbers.num_timed
    for name in ("step_ms", "examples_per_second", "busbw_gbps", "collective_bytes"):
        assert told[name] == pytest.approx(getattr(numbers, name), abs=1e-4), name
    assert told["main_collective"] == numbers.main_collective == "all-reduce"
    assert numbers.slowest is not None
    assert told["slowest"]["replica"] == numbers.slowest.replica == 2
    assert told["slowest"]["late_ms"] == pytest.approx(numbers.slowest.late_ms, abs=1e-4)


def test_the_live_page_leaves_the_same_steps_out_while_the_run_goes_on(
    run: Path, numbers: KeyNumbers, tmp_path: Path
) -> None:
    events = (run / "worker-0-0" / "events.jsonl").read_text().splitlines(keepends=True)
    going = tmp_path / "going" / "worker-0-0"
    going.mkdir(parents=True)
    (going / "events.jsonl").write_text("".join(e for e in events if '"finished"' not in e))
    followed = LiveRun(going.parent)
    followed.advance()
    told = json.loads(followed.message()[0])["numbers"]
    assert told["of"] == "newest"
    assert told["step_ms"] == pytest.approx(numbers.step_ms, rel=0.03)
    assert told["slowest"]["replica"] == 2
    assert numbers.slowest is not None
    assert told["slowest"]["late_ms"] == pytest.approx(numbers.slowest.late_ms, rel=0.03)


@pytest.mark.slow
def test_overview_report_and_command_line_write_the_same_texts(
    run: Path, numbers: KeyNumbers
) -> None:
    check_texts(run, numbers)


def test_the_summary_and_the_list_of_runs_give_the_same_numbers(
    run: Path, numbers: KeyNumbers
) -> None:
    profile = profiles.load(run)
    (segment,) = summarize(profile)["segments"]
    assert segment["steps"]["wall_ms"]["median"] == numbers.step_ms == glance(profile).step_ms
    assert segment["steps"]["examples_per_second"] == numbers.examples_per_second
    assert segment["busbw_gbps"] == numbers.busbw_gbps
    assert segment["main_collective"] == numbers.main_collective
    assert segment["bytes_per_step"]["collective"] == numbers.collective_bytes
    assert numbers.slowest is not None
    assert segment["straggler"]["replica"] == numbers.slowest.replica
    assert [late["replica"] for late in segment["late"]] == [2, 1]
