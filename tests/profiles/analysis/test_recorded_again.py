"""A program of somebody's own that is recorded again: which run was before, and what it gained."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.analysis.compare.document import comparison_document
from strategy_profiles.analysis.compare.run_comparison import RunComparison, compare_runs
from strategy_profiles.analysis.compare.text import against_earlier
from strategy_profiles.answers.answer import Difference, Missing
from strategy_profiles.questions.comparison import fields_of
from strategy_profiles.run.manifest import change_run_file, program_of, read_run_file
from strategy_profiles.run.same_program import earlier_runs
from tests.synthetic import write_run
from tests.synthetic.recorded_again import write_run_of_program


def compared(a: Path, b: Path) -> RunComparison:
    return compare_runs(strategy_profiles.load(a), strategy_profiles.load(b))


def test_the_run_before_is_the_newest_of_the_same_program_and_arguments(tmp_path: Path) -> None:
    first = write_run_of_program(tmp_path / "z-first", 1)
    second = write_run_of_program(tmp_path / "a-second", 2)
    write_run_of_program(tmp_path / "other-arguments", 3, arguments=["--batch", "32"])
    write_run_of_program(tmp_path / "other-program", 4, file="/home/user/other.py")
    write_run(tmp_path / "of-the-lab")
    last = write_run_of_program(tmp_path / "last", 5)
    write_run_of_program(tmp_path / "later", 6)
    assert earlier_runs(last) == [second, first]
    assert earlier_runs(first) == earlier_runs(tmp_path / "of-the-lab") == []


def test_arguments_are_not_kept(tmp_path: Path) -> None:
    run = write_run_of_program(tmp_path / "run", 1, arguments=["--token", "hunter2"])
    assert b"hunter2" not in (run / "run.json").read_bytes()
    same = program_of("/home/user/train.py", ["--token", "hunter2"], [])
    run_file = read_run_file(run)
    assert run_file is not None
    assert same.is_same(run_file.program)
    assert not program_of("/home/user/train.py", [], []).is_same(run_file.program)


@pytest.mark.parametrize(
    ("after_ms", "begins"),
    [(20.0, "1.85 times as fast as"), (60.0, "1.46 times as slow as"), (40.5, "About as fast as")],
)
def test_the_gain_is_that_of_the_loop(tmp_path: Path, after_ms: float, begins: str) -> None:
    before = write_run_of_program(tmp_path / "before", 1, step_ms=40.0)
    after = write_run_of_program(tmp_path / "after", 2, step_ms=after_ms)
    comparison = compared(before, after)
    sentence = against_earlier(comparison)
    assert sentence.startswith(f"{begins} the run of ")
    assert " per step of the loop, was " in sentence
    assert not any("workload" in warning for warning in comparison.warnings)


def test_another_batch_is_compared_by_its_examples(tmp_path: Path) -> None:
    before = write_run_of_program(tmp_path / "before", 1, step_ms=40.0, global_batch_size=64)
    after = write_run_of_program(tmp_path / "after", 2, step_ms=40.0, global_batch_size=128)
    sentence = against_earlier(compared(before, after))
    assert sentence.startswith("2.00 times as fast as ")
    assert " examples/s, was " in sentence


def test_the_changed_lines_are_a_diff(tmp_path: Path) -> None:
    before = write_run_of_program(tmp_path / "before", 1, "data.map(load)")
    after = write_run_of_program(tmp_path / "after", 2, "data.map(load, num_parallel_calls=4)")
    comparison = compared(before, after)
    part = fields_of(comparison)
    assert isinstance(part, Difference)
    assert part.lines[3:] == ("-data.map(load)", "+data.map(load, num_parallel_calls=4)")
    assert comparison_document(comparison, [])["changed_lines"] == list(part.lines)


def test_no_changed_line_and_no_recorded_source_are_said(tmp_path: Path) -> None:
    before = write_run_of_program(tmp_path / "before", 1)
    after = write_run_of_program(tmp_path / "after", 2)
    part = fields_of(compared(before, after))
    assert part.notes == ("None: train.py did not change.",)
    without = write_run_of_program(tmp_path / "without", 3, lines=())
    assert isinstance(fields_of(compared(before, without)), Missing)


def test_a_run_of_an_earlier_version_has_no_program(tmp_path: Path) -> None:
    before = write_run_of_program(tmp_path / "before", 1)
    change_run_file(before, {"program": None})
    after = write_run_of_program(tmp_path / "after", 2)
    assert earlier_runs(after) == []
    comparison = compared(before, after)
    assert not comparison.is_one_program
    assert comparison_document(comparison, [])["changed_lines"] is None
