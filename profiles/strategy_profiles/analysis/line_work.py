"""What does the program do at one of its lines: does it wait, run ops, or loop in Python?

From the samples of the training thread and from the text of the program, as far as it was recorded.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.regions import Regions, regions_of, samples_at
from strategy_profiles.run.event_parts import SourceLine
from strategy_profiles.tables.columns import Bools

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

FEWEST_SAMPLES, MOST_CORES = 10, 0.25
"""Samples that must tell that a line waits, and the cores that the process uses meanwhile."""
MOST = 0.5
"""Part of the samples at a line from which it is said to run ops."""
LEADS = 0.1
"""Part of the samples in steps that a line must lead to."""
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class LineWork(Struct, frozen=True):
    """What is known of a line."""

    waits: bool = False
    """Whether the process computes hardly anything while its training thread is there."""
    runs_ops: bool = False
    """Whether TensorFlow's ops, which Python calls one by one, take most of its time."""
    loop: SourceLine | None = None
    """The innermost loop of the program's Python around it, if that calls no step."""


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
    is_op = samples_at(stacks, [place.doing == "op" for place in stacks.places])
    of_ops = float(stacks.for_ms[at_line & is_op].sum())
    return LineWork(
        waits=_waits(regions, at_line),
        runs_ops=of_ops > MOST * float(stacks.for_ms[at_line].sum()),
        loop=_loop(regions, file, line),
    )


def _waits(regions: Regions, at_line: Bools) -> bool:
    stacks = regions.stacks
    chosen = regions.is_between & at_line & np.isfinite(stacks.cpu_ms)
    if chosen.sum() < FEWEST_SAMPLES:
        return False
    return bool(stacks.cpu_ms[chosen].sum() < MOST_CORES * stacks.for_ms[chosen].sum())


def _loop(regions: Regions, file: str, line: int) -> SourceLine | None:
    text = regions.stacks.sources.get(file, "")
    loops = [loop for loop in _loops(text) if _has(loop, line)]
    of_steps = _lines_of_steps(regions, file)
    own = [loop for loop in loops if not any(_has(loop, each) for each in of_steps)]
    if not own:
        return None
    innermost = max(own, key=lambda loop: (loop.lineno, loop.col_offset))
    return SourceLine(file, innermost.lineno, text.splitlines()[innermost.lineno - 1])


def _loops(text: str) -> Iterator[ast.expr | ast.stmt]:
    """The loops of a program; not those of generators, of which the caller asks one element."""
    with suppress(SyntaxError, ValueError, RecursionError):  # a cell of a notebook may be anything
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, _LOOPS) and not any(map(_yields, ast.walk(node))):
                yield node


def _yields(node: ast.AST) -> bool:
    return isinstance(node, (ast.Yield, ast.YieldFrom))


def _has(node: ast.expr | ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _lines_of_steps(regions: Regions, file: str) -> set[int]:
    """The lines of a file that lead to steps: a sample at the edge of a step may be at another."""
    stacks = regions.stacks
    places = stacks.place[regions.is_step | regions.is_first]
    num_at: Counter[int] = Counter()
    for number, num_samples in Counter(places.tolist()).items():
        frames = stacks.places[number].frames
        for line in {frame.line for frame in frames if frame.file == file}:
            num_at[line] += num_samples
    return {line for line, number in num_at.items() if number >= LEADS * len(places)}
