"""What does the program do at one of its lines: does it wait, run ops, or loop in Python?

From the samples of the training thread and from the text of the program, as far as it was recorded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.regions import (
    Regions,
    lines_of_steps,
    regions_of,
    samples_at,
)
from strategy_profiles.analysis.program_loops import function_around, loops_around, search_in
from strategy_profiles.run.event_parts import SourceLine
from strategy_profiles.tables.columns import Bools

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

FEWEST_SAMPLES, MOST_CORES = 10, 0.25
"""Samples that must tell that a line waits, and the cores that the process uses meanwhile."""
MOST = 0.5
"""Part of the samples at a line from which it is said to run ops."""
_DATASET = "DatasetV2."
_READS = re.compile(r"\.numpy\(|\b(?:float|int|bool|print|next|iter|open)\(|\byield\b")
"""What a function says that reads results, or does what is not done again with each call of a
graph."""


class LineWork(Struct, frozen=True):
    """What is known of a line."""

    waits: bool = False
    """Whether the process computes hardly anything while its training thread is there."""
    runs_ops: bool = False
    """Whether TensorFlow's ops, which Python calls one by one, take most of its time."""
    num_ops: int = 0
    """Different ops that it calls, as far as they were sampled."""
    function: str | None = None
    """The outermost function of the program around these ops that calls no step and reads no
    result: all of it may be a `tf.function`."""
    reads_dataset: bool = False
    """Whether a method of a dataset takes most of its time, such as `reduce`, or its elements."""
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
    is_at_line = [
        bool(place.frames) and (place.frames[-1].file, place.frames[-1].line) == (file, line)
        for place in stacks.places
    ]
    at_line = samples_at(stacks, is_at_line)
    whole_ms = float(stacks.for_ms[at_line].sum())

    def is_most(chosen: Iterable[bool]) -> bool:
        of_chosen = samples_at(stacks, list(chosen))
        return float(stacks.for_ms[at_line & of_chosen].sum()) > MOST * whole_ms

    loops, searches = _loops(regions, file, line)
    return LineWork(
        waits=_waits(regions, at_line),
        runs_ops=is_most(place.doing == "op" for place in stacks.places),
        num_ops=_num_ops(regions, is_at_line, file),
        function=_may_be_graph(regions, is_at_line),
        reads_dataset=is_most(
            place.call.startswith(_DATASET) or (place.doing == "input" and "Iterator" in place.call)
            for place in stacks.places  # "input" alone is also what a PyDataset does itself
        ),
        loops=tuple(loops),
        searches=searches,
    )


def _num_ops(regions: Regions, is_at_line: Sequence[bool], file: str) -> int:
    """Different ops that a line calls, at least: a method, as of an optimizer, counts as two. 0
    without the text of its file, whose loops are not known then."""
    stacks = regions.stacks
    if file not in stacks.sources:
        return 0
    places = zip(stacks.places, is_at_line, strict=True)
    calls = {place.call for place, is_here in places if is_here and place.doing == "op"}
    return len(calls) + sum("." in call for call in calls)


def _may_be_graph(regions: Regions, is_at_line: Sequence[bool]) -> str | None:
    """The outermost function that all samples of a line that run ops came through, and that may be
    a graph, by its text."""
    stacks = regions.stacks
    chains = [
        place.frames
        for place, is_here in zip(stacks.places, is_at_line, strict=True)
        if is_here and place.doing == "op"
    ]
    for frames in zip(*chains, strict=False):
        names = {(frame.file, frame.function) for frame in frames}
        if len(names) > 1:
            return None
        frame = frames[0]
        node = function_around(stacks.sources.get(frame.file, ""), frame.line)
        if node is None or node.name != frame.function.rpartition(".")[2]:
            continue
        steps = lines_of_steps(regions, frame.file)
        calls_step = any(node.lineno <= line <= (node.end_lineno or 0) for line in steps)
        if not calls_step and not _READS.search(ast.unparse(node)):
            return node.name
    return None


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
