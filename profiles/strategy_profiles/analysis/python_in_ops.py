"""Which lines of the program do ops run, that call Python, while it trains?"""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from strategy_profiles.analysis.account.regions import regions_of
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import StackFrame
from strategy_profiles.tables.store import Profile, once

FEWEST_SAMPLES = 10
MOST, OF_A_LOCK = 0.4, 0.1
"""Least part of the samples in ops for a line to be named, and for one that waits for a lock."""
LOCKS = re.compile(r"^with [\w.\[\]]+:|(?:^|\.)acquire\(")
"""A line that waits for a lock: of context managers without a call, only locks wait in C."""


class PythonInOps(Struct, frozen=True):
    """Python that ops of one worker run: generators of its input, `py_function`."""

    share: float
    """Of the time of the loop."""
    line: StackFrame
    """The line that most of the samples are at."""
    of_line: float
    """Its part of the samples in ops."""
    lock: StackFrame | None = None
    """A line at which the ops wait for a lock, for a tenth of the samples or more."""
    of_function: float | None = None
    """The part of the function that the line is in, if no line but that function stands out."""

    @property
    def said(self) -> str:
        """`at train.py:40 (`line`)`, with its part if that is not nearly all."""
        if self.of_function is not None:
            share = "" if self.of_function > 0.9 else f" for {units.share(self.of_function)} of it"
            return f"in `{self.line.function}`{share}, most often at {self.line.place}"
        part = "" if self.of_line > 0.9 else f"{units.share(self.of_line)} of the time "
        return f"{part}at {self.line.place} (`{self.line.text}`)"


@once
def python_in_ops(profile: Profile, segment: int, worker: int) -> PythonInOps | None:
    """What was sampled of a worker in the time of the loop; None if there are too few samples, or
    no line stands out."""
    regions = regions_of(profile, segment)
    if regions is None or not regions.loop_ms:
        return None
    begin_ns, num_samples = regions.over_ns - regions.loop_ms * 1e6, 0
    lines: Counter[StackFrame] = Counter()
    for part in profile.stacks(worker).threads:
        if (part.begin_ns + part.end_ns) / 2 < begin_ns or part.begin_ns >= regions.over_ns:
            continue
        num_samples += part.num_samples
        for each in part.in_ops:
            lines[each.line] += each.num_samples
    num_in_ops = sum(lines.values())
    if num_in_ops < FEWEST_SAMPLES:
        return None
    line, most = lines.most_common(1)[0]
    of_function = None
    if most < MOST * num_in_ops:  # a loop of many lines
        functions = Counter[tuple[str, str]]()
        for frame, num in lines.items():
            functions[frame.file, frame.function] += num
        function, num_in_function = functions.most_common(1)[0]
        if num_in_function < MOST * num_in_ops:
            return None
        inside = {at: num for at, num in lines.items() if (at.file, at.function) == function}
        line = max(inside, key=inside.__getitem__)
        most, of_function = lines[line], num_in_function / num_in_ops
    locks = [
        each
        for each, num in lines.items()
        if num >= OF_A_LOCK * num_in_ops and LOCKS.search(each.text.strip())
    ]
    lock = locks[0] if locks else None
    of_loop = min(1.0, num_in_ops / num_samples)
    return PythonInOps(of_loop, line, most / num_in_ops, lock, of_function)
