"""In which steps does XLA compile again, and how long does that take?

XLA compiles a function for each shape of its arguments, also where TensorFlow does not trace it
again. A capture shows it (the cause `compiling`). Other steps compile as well if they are about as
long as the captured ones that do, and much longer than those that do not.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.tables.columns import Bools, Floats, Ints, floats, ints, of_segment, texts
from strategy_profiles.tables.store import Profile

MOST_OF_STEP = 0.5
"""A captured step compiles if it does so for this share of its time or more."""
SHORTEST, LONGER = 0.5, 3.0
"""Another step compiles if it takes this part of the shortest that does, and so many times as long
as those that do not."""


class Recompiling(Struct, frozen=True):
    """The steps of a segment, the first ones left out, in which XLA compiles."""

    compiles: Bools
    """By step."""
    total_ms: float
    """By how much they are longer than the others; if all compile, what captures show of it."""
    num_captured: int
    function: str | None = None


def recompiling(
    profile: Profile, segment: int, step: Ints, wall_ms: Floats, captured: Bools, num_first: int
) -> Recompiling | None:
    """Return the steps of a segment in which XLA compiles; None if no capture shows one.

    `step`, `wall_ms` and `captured` are of the segment's steps, in order.
    """
    rows = of_segment(profile.table("causes"), segment)
    rows = rows.filter(np.array([kind == "compiling" for kind in texts(rows, "kind")], bool))
    if not rows.num_rows or not len(step):
        return None
    compile_ms = np.zeros(len(step))
    index = np.searchsorted(step, ints(rows, "step")).clip(max=len(step) - 1)
    np.maximum.at(compile_ms, index, floats(rows, "total_ms"))
    compiled = steps_that_compile(compile_ms, wall_ms, captured, num_first)
    names = [name for name in texts(rows, "name") if name]
    return replace(compiled, function=names[-1]) if compiled and names else compiled


def steps_that_compile(
    compile_ms: Floats, wall_ms: Floats, captured: Bools, num_first: int
) -> Recompiling | None:
    """Return the steps in which XLA compiles; None if no captured one does.

    Args:
      compile_ms: how long XLA compiles in each step, as far as the step is captured; else 0.
      wall_ms: the length of each step.
      captured: whether each step is captured.
      num_first: how many first steps do not count.
    """
    later = np.arange(len(wall_ms)) >= num_first
    seen = later & captured & (compile_ms >= MOST_OF_STEP * wall_ms)
    if not seen.any():
        return None
    without_ms = wall_ms[later & captured & ~seen]
    limit_ms = SHORTEST * float(wall_ms[seen].min())
    if without_ms.size:
        limit_ms = max(limit_ms, LONGER * float(np.median(without_ms)))
    compiles = seen | (later & ~captured & (wall_ms >= limit_ms))
    others_ms, long_ms = wall_ms[later & ~compiles], wall_ms[compiles]
    if others_ms.size:
        total_ms = float((long_ms - np.median(others_ms)).clip(min=0.0).sum())
    else:
        total_ms = float(long_ms.sum() * min(1.0, compile_ms[seen].sum() / wall_ms[seen].sum()))
    return Recompiling(compiles, total_ms, int(seen.sum()))
