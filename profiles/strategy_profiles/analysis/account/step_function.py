"""Which function of the program does a step: the one that its loop calls."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct

from strategy_profiles.analysis.account.regions import is_in_loop, regions_of
from strategy_profiles.run.stacks import Stacks

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

MOST = 0.5
"""Share of the samples in steps that must be in the function."""


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
    stacks, numbers = regions.stacks, regions.stacks.place[regions.is_step].tolist()
    found: Counter[tuple[str, str, str]] = Counter()
    for number in numbers:
        frames = stacks.places[number].frames
        at = next((i for i, each in enumerate(frames) if is_in_loop(stacks, each)), len(frames))
        if at + 1 < len(frames):
            found[frames[at + 1].file, frames[at + 1].function, frames[at].place] += 1
    if not found:
        return None
    ((file, name, called_at), count), *_ = found.most_common(1)
    if count < MOST * len(numbers):
        return None
    return StepFunction(name, _defined_at(stacks, file, name) or called_at)


def _defined_at(stacks: Stacks, file: str, name: str) -> str | None:
    """None if the text of the file was not recorded, or has several functions of that name."""
    lines = stacks.sources.get(file, "").splitlines()
    defines = re.compile(rf"\s*(?:async )?def {re.escape(name.rpartition('.')[2])}\(")
    found = [number for number, text in enumerate(lines, 1) if defines.match(text)]
    return f"{file.rpartition('/')[2]}:{found[0]}" if len(found) == 1 else None
