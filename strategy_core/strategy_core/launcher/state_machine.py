"""A state that changes only along a table of allowed transitions.

    machine = StateMachine("worker 0", WorkerState.STARTING, worker_state.TRANSITIONS)
    machine.advance(WorkerEvent.WROTE)

An event that the table does not allow in the current state leaves the state as it is and is added
to `refused`, which the launcher writes into the run's event log: a message that a future or damaged
worker sends at the wrong time must not end the launcher, which holds other runs. Tests set
`is_strict`, which raises IllegalTransitionError instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


class IllegalTransitionError(Exception):
    """An event arrived in a state in which the table does not allow it."""


class StateMachine(Generic[S, E]):
    """Not thread-safe: one thread advances it, any thread may read `state`."""

    is_strict: ClassVar[bool] = False

    def __init__(self, name: str, initial: S, table: Mapping[tuple[S, E], S]) -> None:
        self.name = name
        self.state = initial
        self.refused: list[str] = []
        """One sentence for each illegal transition."""
        self._table = table

    def advance(self, event: E) -> bool:
        """Change the state; returns whether the table allows `event` in the current state."""
        after = self._table.get((self.state, event))
        if after is None:
            sentence = f"Illegal transition: {self.name} is {self.state}, which excludes {event}."
            if self.is_strict:
                raise IllegalTransitionError(sentence)
            self.refused.append(sentence)
            return False
        self.state = after
        return True
