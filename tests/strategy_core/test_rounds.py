"""Which functions train in turns, and when a round of them is over."""

from __future__ import annotations

from strategy_core.tracing.rounds import MOST_CALLS, Round, Turns
from strategy_core.tracing.units import Unit


class Program:
    """Calls functions; a turn begins with each function that is not the one called before."""

    def __init__(self) -> None:
        self.turns = Turns()
        self._last: Unit | None = None

    def call(self, *units: Unit) -> Round | None:
        """The round that is found with the last of these calls."""
        round_before = None
        for unit in units:
            unit.num_calls += 1
            round_before = None
            if unit is not self._last:
                round_before = self.turns.round_before(unit)
                self.turns.begin(unit)
                self._last = unit
        return round_before


def functions(number: int) -> list[Unit]:
    return [Unit(f"train_{index}", f"train.py:{index}") for index in range(number)]


def test_a_round_is_found_when_its_first_function_comes_again() -> None:
    program, (critic, generator) = Program(), functions(2)
    assert program.call(critic, critic, critic, generator) is None
    last_round = program.call(critic)
    assert last_round is not None
    assert last_round.units == (critic, generator)
    assert not last_round.is_over([critic] * 3)
    assert not last_round.is_over([critic] * 3, critic)
    assert last_round.is_over([critic, critic, generator])


def test_the_last_function_may_have_several_calls_in_a_row() -> None:
    program, (first, second) = Program(), functions(2)
    program.call(first, second, second)
    last_round = program.call(first)
    assert last_round is not None
    assert not last_round.is_over([first, second])
    assert last_round.is_over([first, second], first)
    assert last_round.is_over([first, second, second])


def test_three_functions_are_a_round_as_well() -> None:
    program, units = Program(), functions(3)
    program.call(*units)
    last_round = program.call(units[0])
    assert last_round is not None
    assert last_round.units == tuple(units)
    assert not last_round.is_over(units[:2])
    assert last_round.is_over(units)


def test_a_long_turn_is_no_part_of_a_round() -> None:
    program, (first, second) = Program(), functions(2)
    program.call(*[first] * MOST_CALLS, second)
    assert program.call(first) is None


def test_functions_of_two_strategies_are_not_in_turns() -> None:
    program, (first, second) = Program(), functions(2)
    strategy = Program()  # any object that has weak references
    second.strategy = strategy
    program.call(first, second)
    assert program.call(first) is None


def test_many_calls_of_one_function_end_the_turns() -> None:
    first, second = functions(2)
    last_round = Round((first, second), 1)
    assert not last_round.is_given_up([first] * MOST_CALLS)
    assert last_round.is_given_up([first] * (MOST_CALLS + 1))
    assert not last_round.is_given_up([*[first] * MOST_CALLS, second])
