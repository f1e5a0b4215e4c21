"""The spans that the timeline of a long run opens on, laid out before the other ones.

Reading all spans of a long run takes seconds, those of a few capture windows much less. The windows
of one worker follow each other in time, so that a span is on the same lane of its track as in the
layout of the whole run: `assign_lanes` begins with lane 0 again once all spans have ended. A track
may have fewer lanes, and tracks may be missing, so that rows have other numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from strategy_profiles.run.events import WindowCaptured
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.tables.columns import Bools, Ints
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.layout import Timeline, captured_steps, lay_out, origin_of
from strategy_profiles.timeline.one_clock import parts_on_one_clock
from strategy_profiles.timeline.span_parts import int_values

FEWEST_SPANS = 250_000
"""Smaller runs are laid out as a whole at once."""
MOST_SHARE = 0.5
"""Of the run's spans. Laying out more of them first would gain little."""
_NEWEST_STEPS = 40
"""Twice as many as the page opens on (`app/strategy_app/frontend/timeline/view.js`)."""
_MARGIN = 0.15
"""Of a step's length: what the page shows on either side of it."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a viewer opens the timeline; without a view or a step at the newest capture."""

    view: tuple[int, int] | None = None
    """Nanoseconds since the origin of the timeline."""
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """The timeline of some capture windows."""

    timeline: Timeline
    num_recorded: int
    """Spans of the whole run: of the captures by its events, of the marks estimated from those that
    are laid out."""
    read: list[tuple[int, int]]
    """First and last numbers (in `timeline.steps`) of the steps whose spans are laid out."""


@dataclass(frozen=True, slots=True)
class _Windows:
    """The capture windows of one worker, in order."""

    folders: list[Path]
    num_spans: Ints
    of_step: Ints
    """The number of each captured step's window, -1 if there is none."""

    def at(self, in_view: Bools) -> Bools:
        """Return which windows have some of these steps; the first and the last one always."""
        chosen = np.zeros(len(self.folders) + 1, np.bool_)  # the last for steps without a window
        chosen[self.of_step[in_view]] = True
        chosen[[0, -2]] = True
        return chosen[:-1]

    def steps_of(self, chosen: Bools) -> Bools:
        """Return which captured steps have one of these windows."""
        return np.append(chosen, False)[self.of_step]


def lay_out_opening(profile: Profile, place: Place) -> Opening | None:
    """Return the timeline of the windows in view and of each worker's first and last window.

    The first windows have the origin of the run's times, the last ones their end. None if the
    layout of the whole run takes hardly longer, or if it shows more than captures and marks.
    """
    recorded = _windows(profile)
    num_recorded = sum(window.num_spans for windows in recorded for _, window in windows)
    if num_recorded < FEWEST_SPANS or profile.table("closures").num_rows:
        return None
    steps = captured_steps(profile)
    workers = [
        _Windows(
            [folder for folder, _ in windows],
            np.array([window.num_spans for _, window in windows], np.int64),
            _window_of(steps, [window for _, window in windows]),
        )
        for windows in recorded
    ]
    origin = _origin(profile, [worker.folders[0] for worker in workers])
    in_view = _in_view(steps, place, origin)
    chosen, held = _windows_in_view(workers, in_view)
    num_read = sum(int(own.num_spans[at].sum()) for own, at in zip(workers, chosen, strict=True))
    if not num_read or num_read > MOST_SHARE * num_recorded:
        return None
    folders = [
        own.folders[number]
        for own, at in zip(workers, chosen, strict=True)
        for number in np.flatnonzero(at).tolist()
    ]
    timeline = lay_out(profile.of_windows(folders))
    if timeline.steps["step"] != steps["step"]:  # without the captures' phases, other steps count
        return None
    num_recorded = round(num_recorded * timeline.num_spans / num_read)
    return Opening(timeline, num_recorded, _ranges(held))


def _windows(profile: Profile) -> list[list[tuple[Path, WindowCaptured]]]:
    """Return folders and events of each worker's windows, in order."""
    by_worker: dict[int, list[tuple[int, Path, WindowCaptured]]] = defaultdict(list)
    for source in profile.sources:
        if source.worker is None or source.generation is None:
            continue
        folder = worker_folder(profile.path, source.worker, source.generation).path
        by_worker[source.worker] += [
            (source.generation, folder / window.folder, window)
            for window in source.of_kind(WindowCaptured)
            if window.error is None
        ]
    in_order = (sorted(windows, key=lambda each: each[0]) for windows in by_worker.values())
    return [[each[1:] for each in windows] for windows in in_order if windows]


def _windows_in_view(workers: Sequence[_Windows], in_view: Bools) -> tuple[list[Bools], Bools]:
    """Return each worker's windows of the steps in view, and which steps these windows hold.

    A step of a chosen window has the windows of all workers.
    """
    while True:
        chosen = [worker.at(in_view) for worker in workers]
        held = np.zeros(len(in_view), np.bool_)
        for worker, own in zip(workers, chosen, strict=True):
            held |= worker.steps_of(own)
        if not (held & ~in_view).any():
            return chosen, held
        in_view = in_view | held


def _origin(profile: Profile, first: Sequence[Path]) -> int:
    """Return the origin of the run's times, by the spans of each worker's first window."""
    parts = parts_on_one_clock(profile.of_windows(first), "spans", ("start_ns",), _starts)
    return origin_of(profile, np.concatenate([np.empty(0, np.int64), *parts]))


def _starts(table: pa.Table) -> Ints:
    return int_values(table["start_ns"])


def _window_of(steps: Mapping[str, list[Any]], windows: Sequence[WindowCaptured]) -> Ints:
    """Return the number of each captured step's window, -1 if there is none."""
    step, segment = (np.array(steps[name], np.int64) for name in ("step", "segment"))
    first, count, own_segment = (
        np.array([getattr(window, name) for window in windows], np.int64)
        for name in ("first_step", "num_steps", "segment")
    )
    numbers = np.full(len(step), -1, np.int64)
    for number in np.unique(own_segment).tolist():
        of_segment = np.flatnonzero(segment == number)
        of_segment = of_segment[np.argsort(step[of_segment], kind="stable")]
        mine = np.flatnonzero(own_segment == number)
        edges = np.stack([first[mine], first[mine] + count[mine]], axis=1)
        places = np.searchsorted(step[of_segment], edges)
        for window, (low, high) in zip(mine.tolist(), places.tolist(), strict=True):
            numbers[of_segment[low:high]] = window
    return numbers


def _in_view(steps: Mapping[str, list[Any]], place: Place, origin_ns: int) -> Bools:
    """Return which captured steps are at a place."""
    start, end = (np.array(steps[name], np.int64) for name in ("start", "end"))
    if not len(start):
        return np.zeros(0, np.bool_)
    if place.view is not None:
        from_ns, to_ns = (origin_ns + edge for edge in place.view)
    elif place.step is not None:
        nearest = int(np.abs(np.array(steps["step"], np.int64) - place.step).argmin())
        margin = round((end[nearest] - start[nearest]) * _MARGIN)
        from_ns, to_ns = int(start[nearest]) - margin, int(end[nearest]) + margin
    else:
        from_ns, to_ns = int(start[-_NEWEST_STEPS:][0]), int(end.max())
    in_view: Bools = (end >= from_ns) & (start <= to_ns)
    return in_view


def _ranges(chosen: Bools) -> list[tuple[int, int]]:
    """Return the first and the last place of each run of chosen ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.view(np.int8), [0]])))
    return [(first, behind - 1) for first, behind in edges.reshape(-1, 2).tolist()]
