"""Samples of the thread that trains: its steps run a function, its gaps do what is given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.event_parts import Loop, SourceFile, SourceLine, StackFrame, StackPlace
from strategy_profiles.run.events import StacksSampled
from strategy_profiles.run.layout import WorkerFolder

EVERY_NS = 5_000_000
FILE = "/home/user/train.py"
BEFORE_NS = 2_000_000_000
"""What the process did before its first step."""


def stack_place(
    doing: str, line: int, text: str = "", *, within: str = "", call: str = "", function: str = ""
) -> StackPlace:
    """A place at a line of the program."""
    frames = [StackFrame(FILE, 12, "<module>", "for batch in data:")]
    frames.append(StackFrame(FILE, line, function or "<module>", text))
    return StackPlace(doing, within, call, frames)


STEP = stack_place("function", 14, "train_step(batch)")
BUILDING = StackPlace("call", "", "Model.build", [StackFrame(FILE, 5, "<module>", "build()")])


def write_stacks(
    folder: WorkerFolder,
    starts_ns: np.ndarray,
    lengths_ns: np.ndarray,
    gaps: Sequence[tuple[int, float, StackPlace]],
    lines: Sequence[tuple[int, str]] = (),
) -> None:
    """Write a sample every 5 ms of steps and of the gaps after them: (step, ms, place)."""
    places = [STEP, BUILDING, *(gap[2] for gap in gaps)]
    begin_ns = int(starts_ns[0]) - BEFORE_NS
    at_ns = np.arange(begin_ns + EVERY_NS, _end_ns(starts_ns, lengths_ns, gaps), EVERY_NS)
    which = np.where(at_ns < starts_ns[0], 1, 0)
    over_ns = starts_ns + lengths_ns
    for number, (step, ms, _) in enumerate(gaps):
        is_there = (at_ns >= over_ns[step]) & (at_ns < over_ns[step] + ms * 1e6)
        which[is_there] = 2 + number
        over_ns[step] += int(ms * 1e6)
    log = EventLog(folder.stacks)
    log.write(
        StacksSampled(
            program_ns=begin_ns,
            since_ns=begin_ns,
            after_us=[EVERY_NS // 1000] * len(at_ns),
            place=which.tolist(),
            places=places,
            loops=[Loop(FILE, 12, 90)],
            around=[SourceLine(FILE, line, text) for line, text in lines],
            sources=[SourceFile(FILE, _text(lines))] if lines else [],
        )
    )
    log.close()


def _end_ns(
    starts_ns: np.ndarray, lengths_ns: np.ndarray, gaps: Sequence[tuple[int, float, StackPlace]]
) -> int:
    """When the last step ends, with the gaps (step, ms, place) that follow it."""
    last = len(starts_ns) - 1
    return int(starts_ns[-1] + lengths_ns[-1]) + int(
        sum(ms for step, ms, _ in gaps if step == last) * 1e6
    )


def _text(lines: Iterable[tuple[int, str]]) -> str:
    """A file with these lines at their numbers, and empty ones between them."""
    by_number = dict(lines)
    return "\n".join(by_number.get(number, "") for number in range(1, max(by_number) + 1))
