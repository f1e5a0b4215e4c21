"""Functions that train in turns, as the critic and the generator of a GAN: a round is a step.

A segment for each turn would have one step or a few of them, of which nothing can be compared, and
its opening takes longer than they do. Which functions follow each other is seen when the first of
them is called again.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from strategy_core.tracing.units import Unit

MOST_CALLS = 16
"""Of a round. A program that goes on to another function later than that trains one after the
other."""
_MOST_TURNS = 4


class Round:
    """Functions in the order of their turns."""

    def __init__(self, units: Sequence[Unit], num_last: int) -> None:
        self.units = tuple(units)
        self._num_last = num_last
        """Calls of the last function in a round."""

    def is_over(self, called: Sequence[Unit], following: Unit | None = None) -> bool:
        """Whether the calls so far are a round, now that `following` is to be called.

        A round may leave out functions between the first and the last one.
        """
        if following is self.units[0] and self.is_begun_by(called):
            return True
        return sum(unit is self.units[-1] for unit in called) >= self._num_last

    def is_begun_by(self, called: Sequence[Unit]) -> bool:
        """Whether the calls are more than the turn of one function."""
        return any(unit is not called[0] for unit in called)

    def is_given_up(self, called: Sequence[Unit]) -> bool:
        """Whether the program now calls one function many times."""
        return len(called) > MOST_CALLS and not self.is_begun_by(called)


class Turns:
    """The last turns: which function trained, and its number of calls when its turn began."""

    def __init__(self) -> None:
        self._turns: list[tuple[weakref.ref[Any], int]] = []

    def begin(self, owner: Any) -> None:
        """The turn of a function, or of Keras's `fit`, begins with a call that is counted."""
        num_calls = owner.num_calls if isinstance(owner, Unit) else 0
        self._turns = [*self._turns, (weakref.ref(owner), num_calls)][-_MOST_TURNS:]

    def round_before(self, unit: Unit) -> Round | None:
        """The round that ended before the call of `unit` that begins; None if it was none."""
        turns = [(owner(), num_calls) for owner, num_calls in self._turns]
        begin = max((at for at, turn in enumerate(turns) if turn[0] is unit), default=len(turns))
        owners: list[Unit] = []
        num_calls = []
        for owner, first_call in turns[begin:]:
            if not isinstance(owner, Unit) or owner.strategy is not unit.strategy:
                return None
            owners.append(owner)
            num_calls.append(owner.num_calls - first_call + (owner is not unit))
        if len(owners) < 2 or len(set(owners)) < len(owners) or sum(num_calls) > MOST_CALLS:
            return None
        return Round(owners, num_calls[-1])
