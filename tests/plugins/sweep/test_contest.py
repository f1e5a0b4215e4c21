"""Which run comes next: order, halving, the test of the leaders, budgets, failures."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import msgspec
import pytest

from strategy_sweep.contest import NextRun, runs_left, seconds_left, sweep_progress
from strategy_sweep.record import Budget
from strategy_sweep.results import results
from tests.plugins.sweep.made_sweep import made_run, made_sweep, played, rounds_of


def rates(*means: float, spread: float = 0.01, seed: int = 0) -> Callable[[NextRun], float]:
    dice = random.Random(seed)
    return lambda planned: means[planned.configuration] * math.exp(dice.gauss(0, spread))


def test_each_round_has_every_configuration_in_an_order_of_its_own() -> None:
    sweep = played(made_sweep(6), rates(*[100.0] * 6))
    rounds = rounds_of(sweep)
    assert sorted(rounds[0]) == sorted(rounds[1]) == list(range(6))
    assert rounds[0] != rounds[1]


def test_the_slower_half_stops_but_not_the_reference() -> None:
    sweep = played(made_sweep(8), rates(10.0, 100, 95, 90, 20, 19, 18, 17))
    rounds = [set(one) for one in rounds_of(sweep)]
    assert rounds[0] == set(range(8))
    assert rounds[1] == {0, 1, 2, 3, 4}
    assert sweep_progress(sweep).stopped[7].startswith("slower: 0.1")


def test_a_configuration_close_to_the_fastest_is_not_halved_away() -> None:
    sweep = played(made_sweep(8), rates(*[100.0] * 4, *[85.0] * 4, spread=0.0), most=16)
    assert sweep_progress(sweep).left == tuple(range(8))


def test_a_sweep_ends_when_the_leader_is_clearly_faster() -> None:
    sweep = played(made_sweep(4), rates(100.0, 150, 99, 98))
    now = sweep_progress(sweep)
    assert (now.left, now.next_run, now.ended) == ((1,), None, "one configuration was left")
    assert len(rounds_of(sweep)) < 8
    sweep_results = results(sweep)
    assert sweep_results.winner is not None
    assert sweep_results.winner.label == "batch 128"
    of_default = sweep_results.winner.of_reference
    assert of_default is not None
    assert 1 < of_default.low < 1.5 < of_default.high


def test_equal_leaders_use_the_whole_budget_and_none_wins() -> None:
    sweep = played(made_sweep(3, budget=Budget(rounds=5)), rates(100.0, 100, 100, spread=0.05))
    sweep_results = results(sweep)
    assert "budget of 5 rounds" in sweep_results.now.ended
    assert len(sweep.runs) == 15
    assert {item.state for item in sweep_results.table} == {"fastest", "not distinguishable"}


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.02, 0.05])
def test_equal_configurations_are_separated_in_at_most_one_of_twenty_sweeps(spread: float) -> None:
    wrong = 0
    for seed in range(200):
        sweep = played(made_sweep(4), rates(*[100.0] * 4, spread=spread, seed=seed))
        wrong += bool(sweep_progress(sweep).stopped)
    assert 0 < wrong <= 10


def test_a_true_difference_of_ten_per_cent_is_found() -> None:
    num_right = 0
    for seed in range(50):
        sweep = played(made_sweep(3), rates(100.0, 110, 100, spread=0.02, seed=seed))
        num_right += sweep_progress(sweep).left == (1,)
    assert num_right >= 45


def test_a_failed_configuration_stops_with_its_reason_and_the_others_go_on() -> None:
    def rate(planned: NextRun) -> float | str:
        return "out of memory" if planned.configuration == 2 else 100.0 + planned.configuration

    sweep = played(made_sweep(3), rate)
    assert sweep_progress(sweep).stopped[2] == "failed: out of memory"
    assert [run.configuration for run in sweep.runs].count(2) == 1


def test_a_sweep_whose_runs_all_fail_is_over_and_has_no_winner() -> None:
    sweep_results = results(played(made_sweep(3), lambda _turn: "broken"))
    assert sweep_results.now.ended == "every configuration failed"
    assert sweep_results.winner is None
    assert len(sweep_results.sweep.runs) == 3


def test_no_run_starts_after_the_time_is_used() -> None:
    sweep = played(made_sweep(4, budget=Budget(seconds=23)), rates(*[100.0] * 4))
    assert len(sweep.runs) == 5
    assert sweep_progress(sweep).ended == "the time was used"


def test_the_runs_left_of_a_sweep_shrink_to_none() -> None:
    sweep = made_sweep(4)
    assert seconds_left(sweep, sweep_progress(sweep)) is None
    whole = played(sweep, rates(*[100.0] * 4, spread=0.05))
    most = []
    for num in range(1, len(whole.runs) + 1):
        part = msgspec.structs.replace(whole, runs=whole.runs[:num])
        least, longest = runs_left(part, sweep_progress(part))
        assert least <= longest
        most.append(longest)
    assert most[-1] == 0
    assert seconds_left(whole, sweep_progress(whole)) == (0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_later_runs_change_no_decision(seed: int) -> None:
    dice = random.Random(seed)
    means = [dice.uniform(50, 150) for _ in range(8)]
    whole = played(made_sweep(8), rates(*means, spread=0.2, seed=seed))
    now = sweep_progress(whole)
    rounds = rounds_of(whole)
    for index in range(8):
        took_part = [number for number, runs in enumerate(rounds, 1) if index in runs]
        assert took_part == list(range(1, len(took_part) + 1))
        if index in now.left:
            assert took_part[-1] == len(rounds)
        elif "the fastest after" in now.stopped[index]:
            assert f"after {took_part[-1]} run" in now.stopped[index]


def test_the_next_run_of_a_sweep_follows_from_its_file_alone() -> None:
    sweep = made_sweep(5)
    rate = {(c, n): 100.0 + 7 * c + n for c in range(5) for n in range(1, 9)}
    whole = played(sweep, lambda planned: rate[planned.configuration, planned.round])
    for num in range(len(whole.runs)):
        part = msgspec.structs.replace(whole, runs=whole.runs[:num])
        planned = sweep_progress(part).next_run
        assert planned is not None
        expected = whole.runs[num]
        assert made_run(part, planned, rate[planned.configuration, planned.round]) == expected
