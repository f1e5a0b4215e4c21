"""Steps in which XLA compiles again: which they are, and how long that takes in all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import strategy_profiles
from strategy_profiles.analysis.account.account import account
from strategy_profiles.analysis.recompiling import steps_that_compile
from tests.synthetic import write_run

USUAL_MS, COMPILES_MS = 10.0, 1000.0


def _steps(compiling: set[int], captured: set[int], num: int = 40):
    number = np.arange(num)
    wall_ms = np.where(np.isin(number, [*compiling]), COMPILES_MS, USUAL_MS)
    is_captured = np.isin(number, [*captured])
    compile_ms = np.where((wall_ms == COMPILES_MS) & is_captured, 900.0, 0.0)
    return steps_that_compile(compile_ms, wall_ms, is_captured, 1)


def test_steps_as_long_as_captured_ones_that_compile_do_so_as_well() -> None:
    compiling_steps = _steps(compiling={5, 9, 20, 33}, captured={5, 6, 7})
    assert compiling_steps is not None
    assert np.flatnonzero(compiling_steps.compiles).tolist() == [5, 9, 20, 33]
    assert compiling_steps.total_ms == pytest.approx(4 * (COMPILES_MS - USUAL_MS))
    assert compiling_steps.num_captured == 1


def test_nothing_is_said_if_no_captured_step_compiles() -> None:
    assert _steps(compiling={9, 20}, captured={5, 6, 7}) is None


def test_the_first_step_compiles_in_every_program() -> None:
    assert _steps(compiling={0}, captured={0, 1, 2}) is None


def test_if_every_step_compiles_captures_say_how_much_of_it() -> None:
    compiling_steps = _steps(compiling=set(range(40)), captured={5, 6})
    assert compiling_steps is not None
    assert compiling_steps.total_ms == pytest.approx(39 * 900.0)


@given(some.sets(some.integers(0, 39)), some.sets(some.integers(0, 39)))
def test_compiling_never_takes_longer_than_the_steps_after_the_first(
    compiling: set[int], captured: set[int]
) -> None:
    compiling_steps = _steps(compiling, captured)
    if compiling_steps is not None:
        wall_ms = np.where(np.isin(np.arange(40), [*compiling]), COMPILES_MS, USUAL_MS)
        assert not compiling_steps.compiles[0]
        assert 0.0 <= compiling_steps.total_ms <= wall_ms[compiling_steps.compiles].sum()


@pytest.mark.parametrize("compile_ms", [15.0, 30.0], ids=["a part", "all of each step"])
def test_compiling_is_a_part_of_the_steps_in_the_account(compile_ms: float, tmp_path: Path) -> None:
    lengths = {"total_ms": compile_ms, "held_ms": compile_ms}
    cause = {"kind": "compiling", "name": "step", "count": 1, **lengths}
    run = write_run(tmp_path / "run", replicas=1, steps=60, causes=[cause], gaps=[])
    profile = strategy_profiles.load(run)
    time_account = account(profile, profile.segments[0])
    row = time_account.row("loop/steps/compiling")
    assert row is not None
    assert row.total_ms > 0
    parts_ms = sum(each.total_ms for each in time_account.children("loop/steps"))
    assert parts_ms == pytest.approx(time_account.row("loop/steps").total_ms, rel=0.01)
