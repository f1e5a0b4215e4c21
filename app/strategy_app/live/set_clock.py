"""A change of the first worker's wall clock during a run that is followed.

The recorder compares the clock about once a second, and notes by how much it was set before which
step. `strategy_profiles.analysis.account.set_clock` does for a whole run what this does for rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from strategy_profiles.run.events import Event, Note

_SAME_MS = 1_000.0
"""The recorder notes no smaller change."""
_MOST_NS = 1 << 62


class Row(Protocol):
    """A step of the first worker."""

    @property
    def step(self) -> int: ...
    @property
    def start_ms(self) -> float: ...
    @property
    def wall_ms(self) -> float: ...


class SetClock(NamedTuple):
    """One change, as the recorder noted it."""

    step: int
    """The step before whose end it was set."""
    jump_ns: int

    @classmethod
    def of(cls, event: Event) -> SetClock | None:
        """Return the change that an event notes, if it notes one."""
        fields = event.fields if isinstance(event, Note) else {}
        step, jump_ns = fields.get("step"), fields.get("jump_ns")
        if not isinstance(step, int) or not isinstance(jump_ns, int) or abs(jump_ns) >= _MOST_NS:
            return None
        return cls(step, jump_ns)

    @property
    def jump_ms(self) -> float:
        return self.jump_ns / 1e6

    def first_after(self, rows: Sequence[Row]) -> int:
        """Return the place of the first row by the clock as it was set.

        Between it and the one before lies what the clock jumped. Where no two rows up to the step
        are so far apart, it is the place after that step.
        """
        until = next((at for at, row in enumerate(rows) if row.step > self.step), len(rows))
        odd_ms = [
            abs(after.start_ms - before.start_ms - before.wall_ms - self.jump_ms)
            for before, after in pairwise(rows[:until])
        ]
        nearest = min(range(len(odd_ms)), key=odd_ms.__getitem__, default=None)
        return until if nearest is None or odd_ms[nearest] >= _SAME_MS else nearest + 1
