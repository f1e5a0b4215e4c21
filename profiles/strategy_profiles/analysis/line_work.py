"""What does the program do at one of its lines: does it wait, run ops, or loop in Python?

From the samples of the training thread and from the text of the program, as far as it was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.regions import (
    Regions,
    lines_of_steps,
    regions_of,
    samples_at,
)
from strategy_profiles.analysis.program_loops import loops_around, search_in
from strategy_profiles.run.event_parts import SourceLine
from strategy_profiles.tables.columns import Bools

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

FEWEST_SAMPLES, MOST_CORES = 10, 0.25
"""Samples that must tell that a line waits, and the cores that the process uses meanwhile."""
MOST = 0.5
"""Part of the samples at a line from which it is said to run ops."""
_DATASET = "DatasetV2."


class LineWork(Struct, frozen=True):
    """What is known of a line."""

    waits: bool = False
    """Whether the process computes hardly anything while its training thread is there."""
    runs_ops: bool = False
    """Whether TensorFlow's ops, which Python calls one by one, take most of its time."""
    num_ops: int = 0
    """Different ops that it calls, as far as they were sampled."""
    reads_dataset: bool = False
    """Whether a method of a dataset takes most of its time, such as `reduce`."""
    loops: tuple[SourceLine, ...] = ()
    """The loops of the program's Python around it that call no step, the outermost first."""
    searches: SourceLine | None = None
    """The line of the innermost one that asks whether an element is `in` something."""


def line_work(profile: Profile, segment: int, file: str, line: int) -> LineWork:
    """Return what the program does at a line."""
    regions = regions_of(profile, segment)
    if regions is None:
        return LineWork()
    stacks = regions.stacks
    here = [
        bool(place.frames) and (place.frames[-1].file, place.frames[-1].line) == (file, line)
        for place in stacks.places
    ]
    at_line = samples_at(stacks, here)
    whole_ms = float(stacks.for_ms[at_line].sum())

    def is_most(chosen: Iterable[bool]) -> bool:
        of_chosen = samples_at(stacks, list(chosen))
        return float(stacks.for_ms[at_line & of_chosen].sum()) > MOST * whole_ms

    loops, searches = _loops(regions, file, line)
    return LineWork(
        waits=_waits(regions, at_line),
        runs_ops=is_most(place.doing == "op" for place in stacks.places),
        num_ops=len(
            {
                place.call
                for place, is_here in zip(stacks.places, here, strict=True)
                if is_here and place.doing == "op"
            }
        ),
        reads_dataset=is_most(place.call.startswith(_DATASET) for place in stacks.places),
        loops=tuple(loops),
        searches=searches,
    )


def _waits(regions: Regions, at_line: Bools) -> bool:
    stacks = regions.stacks
    chosen = regions.is_between & at_line & np.isfinite(stacks.cpu_ms)
    if chosen.sum() < FEWEST_SAMPLES:
        return False
    return bool(stacks.cpu_ms[chosen].sum() < MOST_CORES * stacks.for_ms[chosen].sum())


def _loops(regions: Regions, file: str, line: int) -> tuple[list[SourceLine], SourceLine | None]:
    """The loops around a line, and the line of the innermost one that searches."""
    text = regions.stacks.sources.get(file, "")
    loops = loops_around(text, line, lines_of_steps(regions, file))
    lines = ["", *text.splitlines()]
    searches = search_in(loops[-1]) if loops else None
    begins = [SourceLine(file, loop.lineno, lines[loop.lineno]) for loop in loops]
    return begins, SourceLine(file, searches, lines[searches]) if searches else None
