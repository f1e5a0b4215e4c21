"""That steps have ceased comes first, before and after the run was ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_profiles.analysis.findings import findings, gather_facts
from strategy_profiles.analysis.headline import headline
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import StackFrame, StackPlace
from strategy_profiles.run.events import Failed
from strategy_profiles.run.layout import worker_folders
from strategy_profiles.run.stamp import stamp_of
from tests.synthetic import write_run
from tests.synthetic.stacks import FILE, stack_place

WAITS = stack_place("python", 31, "lock.acquire()")
ENDS = StackPlace("checkpoint", frames=[StackFrame(FILE, 95, "<module>", "model.save()")])
VALIDATES = stack_place("function", 40, "validate()")


def said_of(run: Path) -> tuple[str, list[str]]:
    """The headline, and the keys of the findings."""
    profile = strategy_profiles.load(run)
    segment = headline_segment(profile)
    assert segment is not None
    facts = gather_facts(profile, segment)
    return headline(profile, facts)[-1], [item.key for item in findings(facts)]


@pytest.mark.parametrize("ending", [None, "stopped", "SIGTERM"])
def test_the_time_without_a_step_comes_first_also_after_the_run_was_ended(
    ending: Any, tmp_path: Path
) -> None:
    last = None if ending == "SIGTERM" else ending
    gaps = [(39, 30_000.0, WAITS)]
    run = write_run(tmp_path / "run", steps=40, ending=last, gaps=gaps, straggler=(2, 30.0))
    if ending == "SIGTERM":
        log = EventLog(next(iter(worker_folders(run))).events)
        log.write(Failed("The program was ended by SIGTERM."))
        log.close()
    limit, keys = said_of(run)
    assert limit.startswith("No step for 30.0")
    assert "the program is at train.py:31 (`lock.acquire()`)" in limit
    assert keys[0] == "no-further-step"
    assert "failure" not in keys


def test_what_a_stopped_program_does_while_it_ends_is_not_where_it_stood(tmp_path: Path) -> None:
    gaps = [(39, 30_000.0, WAITS), (39, 8_000.0, ENDS)]
    limit, _ = said_of(write_run(tmp_path / "run", steps=40, ending="stopped", gaps=gaps))
    assert limit.startswith("No step for 30.0")
    assert "train.py:31" in limit


def test_the_time_without_a_step_is_no_time_of_the_loop(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, ending="stopped", gaps=[(39, 30_000.0, VALIDATES)])
    profile = strategy_profiles.load(run)
    pace = gather_facts(profile, profile.segments[-1]).pace.ms_per_step
    assert pace is not None
    assert pace < 100


def test_samples_without_a_step_change_the_state_of_a_run(tmp_path: Path) -> None:
    """By it pages know that an answer of before is to be given again."""
    run = write_run(tmp_path / "run", steps=40, ending=None, gaps=[(39, 30.0, WAITS)])
    before = stamp_of(run)
    with next(iter(worker_folders(run))).stacks.open("a") as file:
        file.write("\n")
    assert stamp_of(run) != before


def test_a_validation_as_long_as_those_before_is_no_end_of_the_steps(tmp_path: Path) -> None:
    gaps = [(step, 8_000.0, VALIDATES) for step in (19, 39)]
    _, keys = said_of(write_run(tmp_path / "run", steps=40, ending="stopped", gaps=gaps))
    assert "no-further-step" not in keys


def test_a_program_that_ended_by_itself_after_it_stood_still_has_the_line_and_its_time(
    tmp_path: Path,
) -> None:
    """As one that takes Ctrl-C for the end of its loop: no process says that it was ended."""
    gaps = [(9, 6.0, stack_place("python", 30, "batch = made()")), (39, 30_000.0, WAITS)]
    limit, keys = said_of(write_run(tmp_path / "run", steps=40, gaps=gaps))
    assert "s in all, once) at train.py:31 (`lock.acquire()`)" in limit
    assert keys[0] == "between-steps"


def test_what_is_freed_at_the_line_that_leaves_a_loop_is_no_time_of_it(tmp_path: Path) -> None:
    freed = stack_place("python", 31, "if step == 39: break")
    limit, keys = said_of(write_run(tmp_path / "run", steps=40, gaps=[(39, 30_000.0, freed)]))
    assert "train.py:31" not in limit
    assert "between-steps" not in keys
