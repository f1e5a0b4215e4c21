"""What Python did while no replica ran anything, from samples of the training thread's stack.

The recorder samples that stack every few milliseconds of a capture window
(`strategy_core.recorder.python_sampler`). A sample covers the time since the previous one: if the
sampler is late because the interpreter lock was held, the thread ran Python in the meantime. It
says nothing of the other side of a step's begin or end: there the previous sample counts, if it is
from that side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.capture.joined import Steps

LONGEST_NS = 50_000_000
"""A sample covers at most this time: a later sample says nothing about the time before."""


@dataclass(frozen=True, slots=True)
class PythonSamples:
    """Samples in order of time, as plain lists that can be encoded as JSON."""

    at_ns: list[int] = field(default_factory=list)
    """Wall-clock times."""
    place: list[int] = field(default_factory=list)
    """Index into `places`."""
    places: list[list[str]] = field(default_factory=list)
    """Kind (as in `schema.CAUSES`), location such as `file.py:12`, and that line of code."""


def of_samples(samples: PythonSamples, steps: Steps, busy: Intervals) -> list[dict[str, Any]]:
    """Return rows of the table `causes`, by step and location, with lengths in ns.

    `busy` are the times that have another explanation; they do not count as held up by Python.
    """
    rows = []
    for (kind, name, line), there, num_within in _by_place(samples, steps):
        total = there.length_within(steps.start_ns, steps.end_ns)
        either = (there | busy).length_within(steps.start_ns, steps.end_ns)
        held = either - busy.length_within(steps.start_ns, steps.end_ns)
        rows += [
            {
                "kind": kind,
                "name": name,
                "detail": line or None,
                "step": step,
                "count": int(num_within[step]),
                "total_ns": int(total[step]),
                "held_ns": int(held[step]),
            }
            for step in np.flatnonzero(held > 0).tolist()
        ]
    return rows


def times_of(samples: PythonSamples, steps: Steps, *wanted: str) -> Intervals:
    """Return the times at which the samples say that Python of these kinds ran."""
    covered = Intervals.union((np.zeros(0, np.int64), np.zeros(0, np.int64)))
    for (kind, *_), there, _ in _by_place(samples, steps):
        covered = covered | there if kind in wanted else covered
    return covered


def _by_place(
    samples: PythonSamples, steps: Steps
) -> Iterator[tuple[list[str], Intervals, NDArray[np.int64]]]:
    """Yield each place with its times and its number of samples by step."""
    if len(samples.at_ns) < 2 or not len(steps):
        return
    end = np.asarray(samples.at_ns, np.int64)
    start = np.maximum(np.append(end[0] - 1, end[:-1]), end - LONGEST_NS)
    place = np.asarray(samples.place, np.int64)
    in_step = np.where(steps.of(end) >= 0, place, -1)
    place = np.where(in_step >= 0, in_step, np.append(-1, in_step[:-1]))
    for index, known in enumerate(samples.places):
        own = place == index
        num_within = np.bincount(steps.of(end[own]) + 1, minlength=len(steps) + 1)[1:]
        yield known, Intervals.union((start[own], end[own])), num_within
