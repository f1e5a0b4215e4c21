"""At which lines of the program does the time of the loop pass?

The samples of the training thread, by the innermost line of the program on its stack. Those in a
step are at the line that calls it; of these, the time of its ops is at the lines that made them.
"""

from __future__ import annotations

import re
from collections import ChainMap, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.account.account import account
from strategy_profiles.analysis.account.regions import Line, Regions, regions_of, split
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.event_parts import SourceLine
from strategy_profiles.run.stacks import Stacks
from strategy_profiles.tables.columns import Bools
from strategy_profiles.tables.store import Profile

SMALLEST = 0.02
"""Share of the loop from which a line is shown."""
MOST_LINES = 8
AROUND = 1
"""Lines before and after such a line that are shown with it; the recording has more."""


class LoopLine(Struct, frozen=True):
    """A line of the program; one that is shown for its neighbour has no time."""

    file: str
    line: int
    text: str
    ms_per_step: float | None
    share: float | None
    """Of the loop."""


def loop_lines(
    profile: Profile, segment: int, input_line: SourceLine | None = None, sentence: str = ""
) -> tuple[LoopLine, ...]:
    """Return the lines with most of a segment's loop, and those around them, in their order.

    Args:
      input_line: the line that makes what the steps wait for: it has their waits for a batch.
      sentence: of the cause; a line that it names (`train.py:31`) is there, too, also one that
        only another worker came to.

    The files are ordered by the time of their lines. Empty if the training thread was not sampled.
    """
    regions = regions_of(profile, segment)
    if regions is None or not regions.stacks.count or not regions.loop_ms:
        return ()
    num_steps = step_times(profile, segment).count
    opened = next(each for each in profile.segments if each.segment == segment)
    parts = account(profile, opened)
    made = parts.children("loop/steps/compute")
    if input_line is not None and (waits := parts.row("loop/steps/input")):
        made = (*made, replace(waits, file=input_line.file, line=input_line.line))
    by_line = _ms_by_line(regions, made)
    longest = sorted(by_line, key=lambda line: -by_line[line])[:MOST_LINES]
    lit = [line for line in longest if by_line[line] >= SMALLEST * regions.loop_ms]
    stacks = _with_sources(profile, regions.stacks)
    named = _lines_in(sentence, stacks) if lit else ()
    return tuple(
        LoopLine(
            *line,
            _text(stacks, line),
            by_line[line] / num_steps if line in lit else None,
            by_line[line] / regions.loop_ms if line in lit else None,
        )
        for line in _with_neighbours([*lit, *named], stacks)
    )


def _with_sources(profile: Profile, stacks: Stacks) -> Stacks:
    """The samples, with the files that any worker recorded: each may have come to other ones."""
    others = (profile.stacks(each) for each in profile.workers)
    return replace(stacks, sources=ChainMap(*(dict(each.sources) for each in (stacks, *others))))


def _lines_in(sentence: str, stacks: Stacks) -> Iterator[Line]:
    for name, line in re.findall(r"([^\s/`(]+):(\d{1,9})", sentence):
        yield from ((file, int(line)) for file in stacks.sources if PurePath(file).name == name)


def _ms_by_line(regions: Regions, ops: Sequence[Row]) -> dict[Line, float]:
    """`ops` are parts of the steps: their time is taken from the line that calls most steps."""
    by_line: dict[Line, float] = defaultdict(float)
    of_steps = _sampled(regions, regions.is_step, regions.steps_ms)
    caller = max(of_steps, key=lambda line: of_steps[line], default=None)
    for op in ops:
        if caller and op.file is not None and op.line is not None:
            taken_ms = min(op.total_ms, of_steps[caller])
            of_steps[caller] -= taken_ms
            of_steps[op.file, op.line] += taken_ms
    for part in (
        _sampled(regions, regions.is_first, regions.first_ms),
        of_steps,
        _sampled(regions, regions.is_between, regions.between_ms),
    ):
        for line, ms in part.items():
            by_line[line] += ms
    return by_line


def _sampled(regions: Regions, chosen: Bools, length_ms: float) -> dict[Line, float]:
    by_line: dict[Line, float] = defaultdict(float)
    for part in split(regions, chosen, length_ms):
        for frame in part.place.frames[-1:]:
            by_line[frame.file, frame.line] += part.ms
    return by_line


def _with_neighbours(lit: Sequence[Line], stacks: Stacks) -> Iterator[Line]:
    for file in dict.fromkeys(file for file, _ in lit):
        own = {line for of, line in lit if of == file}
        near = {each for line in own for each in range(line - AROUND, line + AROUND + 1)}
        known = [line for line in sorted(near) if line in own or _text(stacks, (file, line))]
        yield from ((file, line) for line in known)


def _text(stacks: Stacks, line: Line) -> str:
    if line in stacks.around:
        return stacks.around[line]
    frames = (frame for place in stacks.places for frame in place.frames[-1:])
    sampled = next((frame.text for frame in frames if (frame.file, frame.line) == line), "")
    source = stacks.sources.get(line[0], "").splitlines()
    return sampled or "".join(source[line[1] - 1 : line[1]] if line[1] > 0 else ())
