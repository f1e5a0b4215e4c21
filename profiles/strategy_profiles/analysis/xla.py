"""Does XLA compile functions on one side of a comparison only?"""

from __future__ import annotations

from collections.abc import Sequence

from strategy_profiles.run.events import PlacementRecorded
from strategy_profiles.tables.store import Profile


def num_compiled(run: Profile, segment: int) -> int | None:
    """Return how many functions of a segment XLA compiles; None if that is not recorded."""
    known = [
        event.num_compiled
        for event in run.events(PlacementRecorded)
        if event.segment == segment and event.num_compiled is not None
    ]
    return max(known, default=None)


def compiled_on_one_side(a: Sequence[int | None], b: Sequence[int | None]) -> str | None:
    """Return a sentence if XLA compiles functions of every run of one side and none of the other.

    None also if a run does not tell.
    """
    for with_xla, without, name, other in ((a, b, "A", "B"), (b, a, "B", "A")):
        if all(with_xla) and all(count == 0 for count in without):
            return (
                f"XLA compiles functions of {name} and none of {other}, which may be all of the "
                "difference: compile both or neither. Keras's fit compiles by default on one GPU "
                "and not under a strategy; compile(jit_compile=...) decides."
            )
    return None
