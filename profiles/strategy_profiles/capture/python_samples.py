"""What Python did while no replica ran anything, from samples of the training thread's stack.

The recorder samples that stack every few milliseconds of a capture window
(`strategy_core.recorder.python_sampler`). A sample covers the time since the previous one: if the
sampler is late because the interpreter lock was held, the thread ran Python in the meantime. It
says nothing of the other side of a step's begin or end: there the previous sample counts, if it is
from that side.

The runtime lets the lock go when it executes a function, so the sampler often gets it there. Such a
sample covers the Python of the call before, which the other samples of calls at that line know: it
is divided as they are. In a step of synchronized BatchNormalization whose calls make keys of
collectives for 5 ms, 35 of 37 samples were there on a busy machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.capture.joined import Steps
from strategy_profiles.tables.schema import CALLS

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
    """Kind (as in `schema.CAUSES`, or `execute`), location such as `file.py:12`, and that line of
    code."""


EXECUTE = "execute"
"""Kind of samples in the runtime, which are divided among `CALLS`."""


class _Held(NamedTuple):
    """The samples of a place, by step."""

    kind: str
    name: str
    line: str
    num_within: NDArray[np.int64]
    total_ns: NDArray[np.int64]
    held_ns: NDArray[np.int64]
    """Without the times that have another explanation."""


def of_samples(samples: PythonSamples, steps: Steps, busy: Intervals) -> list[dict[str, Any]]:
    """Return rows of the table `causes`, by step and location, with lengths in ns.

    `busy` are the times that have another explanation; they do not count as held up by Python.
    """
    busy_ns = busy.length_within(steps.start_ns, steps.end_ns)
    places = [
        _Held(
            kind,
            name,
            line,
            num_within,
            there.length_within(steps.start_ns, steps.end_ns),
            (there | busy).length_within(steps.start_ns, steps.end_ns) - busy_ns,
        )
        for (kind, name, line), there, num_within in _by_place(samples, steps)
    ]
    return [
        {
            "kind": kind,
            "name": place.name,
            "detail": place.line or None,
            "step": step,
            "count": round(share * place.num_within[step]),
            "total_ns": round(share * place.total_ns[step]),
            "held_ns": round(share * place.held_ns[step]),
        }
        for place in places
        for kind, share in _shares(place, places).items()
        for step in np.flatnonzero(place.held_ns > 0).tolist()
    ]


def _shares(place: _Held, places: Sequence[_Held]) -> dict[str, float]:
    """The kinds that the time of a place belongs to."""
    if place.kind != EXECUTE:
        return {place.kind: 1.0}
    held = Counter[str]()
    for each in places:
        if each.kind in CALLS and each.name == place.name:
            held[each.kind] += int(each.held_ns.sum())
    whole = held.total()
    return {kind: ns / whole for kind, ns in held.items() if ns} if whole else {CALLS[0]: 1.0}


def times_of(samples: PythonSamples, steps: Steps, *wanted: str) -> Intervals:
    """Return the times at which the samples say that Python of these kinds ran."""
    covered = Intervals.union((np.zeros(0, np.int64), np.zeros(0, np.int64)))
    for (kind, *_), times, _ in _by_place(samples, steps):
        if kind in wanted:
            covered = covered | times
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
