"""Which call of the program takes longest before training begins?

The account has the innermost lines. A function that makes the data may take most of the time at
none of its lines alone, so the lines are added along the calls that led to them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from strategy_profiles.analysis.account.regions import Part, Regions, regions_of, split
from strategy_profiles.run.event_parts import StackFrame
from strategy_profiles.tables.store import Profile

MOST = 0.7
"""Share of a call's time that one line of what it calls must take to be named instead of it."""


class LongestBefore(Struct, frozen=True):
    """A line of the program, and what it calls."""

    line: StackFrame
    call: str
    """Function of a library that its time is spent in; empty if there is no such function."""
    ms: float
    inner: StackFrame | None = None
    """The innermost line that takes most of it, if it is another one."""
    inner_ms: float = 0.0


def longest_before(profile: Profile, segment: int) -> LongestBefore | None:
    """Return the call that takes longest, without imports and without the making of a strategy,
    which waits for other processes; None if nothing was sampled there."""
    regions = regions_of(profile, segment)
    if regions is None or regions.before_ms is None:
        return None
    sampled_ms = regions.before_ms - regions.start_ms
    parts = [
        part
        for part in split(regions, regions.is_before, sampled_ms)
        if part.place.frames and part.place.doing != "import" and not _makes_strategy(part)
    ]
    if not parts:
        return None
    depth, inside = 0, parts
    shared = _depth_of_loop(regions, parts)
    while True:
        below = _by_line(inside, depth)
        if not below:
            break
        longest = max(below, key=_ms)
        if depth > shared and _ms(longest) < MOST * _ms(inside):
            break
        depth, inside = depth + 1, longest
    line, inner = inside[0].place.frames[depth - 1], max(_by_line(inside, -1), key=_ms)
    last, call = inner[0].place.frames[-1], max(inside, key=lambda part: part.ms).place.call
    return LongestBefore(line, call, _ms(inside), None if last == line else last, _ms(inner))


def _makes_strategy(part: Part) -> bool:
    return "Strategy" in part.place.call and part.place.call.endswith("__init__")


def _depth_of_loop(regions: Regions, parts: Sequence[Part]) -> int:
    """How many of the outermost lines, as that of `main()`, led to the loop as well."""
    stacks = regions.stacks
    of_loop = {
        tuple(stacks.places[number].frames)
        for number in set(stacks.place[regions.is_step].tolist())
    }
    paths = [tuple(part.place.frames) for part in parts]
    depth = 0
    while any(
        len(path) > depth + 1 and any(each[: depth + 1] == path[: depth + 1] for each in of_loop)
        for path in paths
    ):
        depth += 1
    return depth


def _by_line(parts: Sequence[Part], depth: int) -> list[list[Part]]:
    """The parts that have a line at a depth, by that line; at -1, by their innermost one."""
    parts_by_line: dict[StackFrame, list[Part]] = defaultdict(list)
    for part in parts:
        if len(part.place.frames) > depth:
            parts_by_line[part.place.frames[depth]].append(part)
    return list(parts_by_line.values())


def _ms(parts: Sequence[Part]) -> float:
    return sum(part.ms for part in parts)
