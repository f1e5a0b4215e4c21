"""Live page, summary and documents for programs give the same number for the same thing.

One run with a late replica, traced steps, and captured steps that took longer than the others.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import strategy_profiles
from strategy_app.live.live_run import LiveRun
from strategy_profiles.analysis.run_row import run_row
from strategy_profiles.analysis.summary import summarize
from strategy_profiles.answers.answer import KeyNumber
from tests.app.numbers_of_run import check_documents, check_live, live, numbers_of
from tests.event_records import read_records, write_records
from tests.profiles.served_run import write_served_run
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

RETRACED = [{"step": 50, "function": "train_step", "num_traces": 1}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "late"
    write_run(run, steps=120, straggler=(2, 30.0), also_late=(1, 12.0), retraced=RETRACED)
    return _slowed(run, captured_ms=40.0, retraced_ms=5_000.0)


def _slowed(run: Path, *, captured_ms: float, retraced_ms: float) -> Path:
    """Captured and retraced steps take longer, as they do in real runs."""
    path = run / "worker-0-0" / "events.jsonl"
    records = read_records(path)
    for record in records:
        if record["kind"] == "step":
            record["wall_ms"] += captured_ms * record["captured"]
            record["wall_ms"] += retraced_ms * (record["step"] == RETRACED[0]["step"])
    write_records(path, records)
    return run


@pytest.fixture(scope="module")
def numbers(run: Path) -> dict[str, KeyNumber]:
    return numbers_of(run)[1]


def test_traced_and_captured_steps_are_in_no_median(numbers: dict[str, KeyNumber]) -> None:
    # 20 ms of compute, 3.5 of the rest, 30 late; 120 steps less 30 captured, the first and one.
    assert f"median of {120 - 30 - 2} steps;" in numbers["step_time"].note
    assert numbers["step_time"].value == pytest.approx(53.5, rel=0.05)


def test_the_live_page_tells_the_numbers_of_the_whole_run_once_it_is_over(run: Path) -> None:
    check_live(run)


def test_the_live_page_leaves_the_same_steps_out_while_the_run_goes_on(
    run: Path, numbers: dict[str, KeyNumber], tmp_path: Path
) -> None:
    live_numbers = json.loads(_going(run, tmp_path).message()[0])["numbers"]
    assert live_numbers["of"] == "newest"
    assert live_numbers["slowest"] == 2
    assert live_numbers["numbers"]["slowest"][2] == numbers["slowest"].note
    for key in ("step_time", "slowest"):
        value = float(live_numbers["numbers"][key][0])
        assert value == pytest.approx(numbers[key].value, rel=0.03), key


def test_the_live_page_tells_the_collectives_of_the_newest_capture(
    run: Path, numbers: dict[str, KeyNumber], tmp_path: Path
) -> None:
    """All captures of this run moved the same bytes."""
    live_numbers = json.loads(_going(run, tmp_path, with_windows=True).message()[0])["numbers"][
        "numbers"
    ]
    for key in ("traffic", "busbw"):
        assert live_numbers[key] == [*numbers[key].text.split(), numbers[key].note], key
    without = json.loads(_going(run, tmp_path).message()[0])["numbers"]["numbers"]
    assert without["busbw"] == ["–", "", "after the first full capture"]


def test_until_its_first_steps_a_configuration_says_when_its_numbers_come(
    run: Path, tmp_path: Path
) -> None:
    """Not that nothing was recorded: the steps before a change were."""
    live_numbers = json.loads(_going(run, tmp_path, num_steps=1).message()[0])["numbers"]
    notes = {key: number[2] for key, number in live_numbers["numbers"].items()}
    assert notes["step_time"] == notes["loop_throughput"] == "after the second step"
    assert notes["slowest"] == "after a few steps"


def test_a_run_that_starts_says_when_its_numbers_come(run: Path, tmp_path: Path) -> None:
    starting = _going(run, tmp_path, is_starting=True).message()[0]
    numbers = json.loads(starting)["numbers"]["numbers"]
    assert all(note.startswith("after ") for _, _, note in numbers.values())


def _going(
    run: Path,
    folder: Path,
    *,
    with_windows: bool = False,
    num_steps: int | None = None,
    is_starting: bool = False,
    inject: list[dict[str, object]] | None = None,
) -> LiveRun:
    """The run without its end, as a viewer follows it."""
    left_out = ['"finished"'] if with_windows else ['"finished"', '"window"']
    events = (run / "worker-0-0" / "events.jsonl").read_text().splitlines(keepends=True)
    going = folder / f"going{with_windows}" / "worker-0-0"
    if with_windows:
        shutil.copytree(run / "worker-0-0", going)
    else:
        going.mkdir(parents=True)
    kept = [event for event in events if not any(text in event for text in left_out)]
    if is_starting:
        kept = kept[: next(at for at, event in enumerate(kept) if '"kind": "segment"' in event)]
    if num_steps is not None:
        begun = next(at for at, event in enumerate(kept) if '"kind": "step"' in event)
        kept = kept[: begun + num_steps]
    (going / "events.jsonl").write_text("".join(kept))
    if inject is not None:
        records = read_records(going / "events.jsonl")
        for record in records:
            if record["kind"] == "segment":
                record["spec"] = {**record["spec"], "inject": inject}
        write_records(going / "events.jsonl", records)
    followed = LiveRun(going.parent)
    followed.advance()
    return followed


@pytest.fixture(scope="module")
def of_two_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four replicas on two workers; replica 2, the first of worker 1, is late."""
    run = tmp_path_factory.mktemp("runs") / "two-workers"
    return write_run(run, steps=120, replicas=4, workers=2, straggler=(2, 30.0))


def test_two_workers_have_the_same_numbers_on_the_live_page(of_two_workers: Path) -> None:
    check_live(of_two_workers)


def test_documents_for_programs_have_the_numbers_of_the_pages(
    run: Path, of_two_workers: Path, tmp_path: Path
) -> None:
    for recorded in (run, of_two_workers):
        scratch = tmp_path / recorded.name
        scratch.mkdir()
        check_documents(recorded, scratch)


def test_replicas_of_both_workers_wait_for_the_late_one(of_two_workers: Path) -> None:
    """Replica 3 shares its worker with the late one, 0 and 1 wait for it across the workers."""
    (segment,) = summarize(strategy_profiles.load(of_two_workers))["segments"]
    waits = {each["replica"]: each["wait_ms"] for each in segment["replicas"]}
    assert min(waits[replica] for replica in (0, 1, 3)) > waits[2] + 25


def test_the_summary_and_the_list_of_runs_give_the_same_numbers(
    run: Path, numbers: dict[str, KeyNumber]
) -> None:
    profile = strategy_profiles.load(run)
    (segment,) = summarize(profile)["segments"]
    step_ms = numbers["step_time"].value
    assert segment["steps"]["wall_ms"]["median"] == step_ms == run_row(profile).step_ms
    assert segment["steps"]["examples_per_second"] == numbers["throughput"].value
    assert segment["busbw_gbps"] == numbers["busbw"].value
    assert segment["main_collective"] == "all-reduce"
    assert numbers["busbw"].note == "all-reduce, 2 calls a step"
    assert segment["bytes_per_step"]["collective"] == numbers["traffic"].value
    assert segment["straggler"]["late_ms"] == numbers["slowest"].value
    assert [late["replica"] for late in segment["late"]] == [2, 1]
    assert segment["headline"] == numbers_of(run)[0]


def test_of_parameter_servers_the_slowest_worker_is_the_same_everywhere(tmp_path: Path) -> None:
    """Worker 1 computes for 20 ms longer than worker 0; they do not wait for each other."""
    run = write_served_run(tmp_path / "served")
    expected = ["20.0", "ms", "worker 1, whose steps take longer: none waits for it"]
    assert live(run)["numbers"]["slowest"] == expected
    events = run / "worker-0-0" / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(line for line in lines if '"finished"' not in line))
    followed = LiveRun(run)
    followed.advance()
    live_numbers = json.loads(followed.message()[0])["numbers"]
    assert live_numbers["of"] == "newest"
    assert live_numbers["numbers"]["slowest"] == expected
    (segment,) = summarize(strategy_profiles.load(run))["segments"]
    assert segment["straggler"]["late_ms"] == pytest.approx(20.0)
    assert segment["findings"] == [] or segment["findings"][0]["key"] != "straggler"
