"""Where Python was while no replica ran anything: samples of the stack of the steps' thread.

The recorder looks at that stack every few milliseconds of a capture window
(`strategy_core.recorder.python_sampler`). A sample represents the time since the previous one: if
Python's lock was not free in between, the thread ran Python until it was seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from strategy_lab.profiles.capture.intervals import Intervals
from strategy_lab.profiles.capture.joined import Steps

LONGEST_NS = 50_000_000
"""The longest time that a sample represents: a sampler that was delayed saw nothing."""


@dataclass(frozen=True, slots=True)
class PythonSamples:
    """Samples in order of time; plain lists, so that they travel as JSON."""

    at_ns: list[int] = field(default_factory=list)
    """Wall clock."""
    place: list[int] = field(default_factory=list)
    """Index into `places`."""
    places: list[list[str]] = field(default_factory=list)
    """Kind (as in `schema.CAUSES`), `file.py:12`, and that line of the program."""


def of_samples(samples: PythonSamples, steps: Steps, busy: Intervals) -> list[dict[str, Any]]:
    """Rows of the table `causes`: by step and place the time in which nothing else is known to have
    happened (`busy`)."""
    if len(samples.at_ns) < 2 or not len(steps):
        return []
    end = np.asarray(samples.at_ns, np.int64)
    start = np.maximum(np.append(end[0] - 1, end[:-1]), end - LONGEST_NS)
    place = np.asarray(samples.place, np.int64)
    rows = []
    for index, (kind, name, line) in enumerate(samples.places):
        own = place == index
        there = Intervals.union((start[own], end[own]))
        total = there.length_within(steps.start_ns, steps.end_ns)
        either = (there | busy).length_within(steps.start_ns, steps.end_ns)
        held = either - busy.length_within(steps.start_ns, steps.end_ns)
        rows += [
            {
                "kind": kind,
                "name": name,
                "detail": line or None,
                "step": step,
                "count": int((steps.of(end[own]) == step).sum()),
                "total_ms": int(total[step]),
                "held_ms": int(held[step]),
            }
            for step in np.flatnonzero(held > 0).tolist()
        ]
    return rows
