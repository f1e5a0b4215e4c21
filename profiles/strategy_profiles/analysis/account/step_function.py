"""Which function of the program does a step, and which loop is unrolled when it is traced."""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from strategy_profiles.analysis.account.regions import lines_of_steps, regions_of, samples_at
from strategy_profiles.analysis.program_loops import loop_calling
from strategy_profiles.run.event_parts import Loop, StackFrame
from strategy_profiles.run.stacks import Stacks
from strategy_profiles.tables.columns import Ints
from strategy_profiles.tables.store import Profile

MOST = 0.5
"""Share of the samples in steps that must be in the function."""
FEWEST = 5
"""Samples that must be in an unrolled loop."""


class StepFunction(Struct, frozen=True):
    name: str
    """`Trainer.update`."""
    place: str
    """`train.py:12`: where it is defined or, if that is not known, where the loop calls it."""


def step_function(profile: Profile, segment: int) -> StepFunction | None:
    """Return the function below the program's loop in most samples of steps; None if the loop does
    the step in its own lines, or without samples."""
    regions = regions_of(profile, segment)
    if regions is None or not regions.is_step.any():
        return None
    stacks, places = regions.stacks, Counter(regions.stacks.place[regions.is_step].tolist())
    num_samples_of: Counter[tuple[str, str, str]] = Counter()
    for number, num_samples in places.items():
        frames = stacks.places[number].frames
        at = next((i for i, each in enumerate(frames) if _is_in_loop(stacks, each)), len(frames))
        if at + 1 < len(frames):
            num_samples_of[frames[at + 1].file, frames[at + 1].function, frames[at].place] += (
                num_samples
            )
    if not num_samples_of:
        return None
    ((file, name, called_at), count), *_ = num_samples_of.most_common(1)
    if count < MOST * places.total():
        return None
    return StepFunction(name, _defined_at(stacks, file, name) or called_at)


def _is_in_loop(stacks: Stacks, frame: StackFrame) -> bool:
    return any(loop.has(frame.file, frame.line) for loop in stacks.loops)


def unrolled_loop(profile: Profile, segment: int, of_ops: str) -> str | None:
    """`train.py:48`: the `for` or `while` statement that most of the tracing of the first step is
    in, that around the steps aside; None if neither samples nor the text of the program tell.

    `of_ops` is the line of the ops, with its file. AutoGraph runs a copy of a function, whose lines
    are not the program's, so its samples are at none of them.
    """
    regions = regions_of(profile, segment)
    if regions is None:
        return None
    stacks = regions.stacks
    around_steps = set(_loops(stacks, stacks.place[regions.is_step]).elements())
    is_traced = samples_at(stacks, [place.doing == "tracing" for place in stacks.places])
    counts = _loops(stacks, stacks.place[regions.is_first & is_traced])
    loops = [loop for loop, count in counts.most_common() if count >= FEWEST]
    loop = next((each for each in loops if each not in around_steps), None)
    if loop:
        return f"{loop.file.rpartition('/')[2]}:{loop.first}"
    file, _, line = of_ops.rpartition(":")
    text = stacks.sources.get(file, "")
    number = loop_calling(text, int(line), lines_of_steps(regions, file)) if text else None
    return f"{file.rpartition('/')[2]}:{number}" if number else None


def _loops(stacks: Stacks, places: Ints) -> Counter[Loop]:
    """How many of these samples are in each loop, or in what it calls."""
    counts = Counter[Loop]()
    for number, count in Counter(places.tolist()).items():
        frames = stacks.places[number].frames
        lines = {(frame.file, frame.line) for frame in frames}
        for loop in stacks.loops:
            if any(loop.has(*line) for line in lines):
                counts[loop] += count
    return counts


def _defined_at(stacks: Stacks, file: str, name: str) -> str | None:
    """None if the text of the file was not recorded, or has several functions of that name."""
    lines = stacks.sources.get(file, "").splitlines()
    defines = re.compile(rf"\s*(?:async )?def {re.escape(name.rpartition('.')[2])}\(")
    definitions = [number for number, text in enumerate(lines, 1) if defines.match(text)]
    return f"{file.rpartition('/')[2]}:{definitions[0]}" if len(definitions) == 1 else None
