"""The spans that the timeline of a long run opens on, laid out before the other ones.

Reading all spans of a long run takes seconds, those of a few capture windows much less. The windows
of one process follow each other in time, so that a span is on the same lane of its track as in the
layout of the whole run: `assign_lanes` begins with lane 0 again once all spans have ended. A track
may have fewer lanes, and tracks may be missing, so that rows have other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from strategy_lab.profiles.run.events import WindowCaptured
from strategy_lab.profiles.run.layout import worker_folder
from strategy_lab.profiles.tables.store import Profile
from strategy_lab.profiles.timeline.layout import Timeline, captured_steps, lay_out, origin_of
from strategy_lab.profiles.timeline.span_parts import int_values

FEWEST_SPANS = 250_000
"""Smaller runs are laid out as a whole at once."""
MOST_SHARE = 0.5
"""Of the run's spans. Laying out more of them first would gain little."""
_NEWEST_STEPS = 40
"""Twice as many as the page opens on (`app/frontend/timeline/view.js`)."""
_MARGIN = 0.15
"""Of a step's length: what the page shows on either side of it."""

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


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
    """Spans of the whole run, by its events."""
    read: list[tuple[int, int]]
    """First and last numbers (in `timeline.steps`) of the steps whose spans are laid out."""


def lay_out_opening(profile: Profile, place: Place) -> Opening | None:
    """Return the timeline of the windows in view and of the first and the last window.

    The first window has the origin of the run's times, the last one their end. None if the layout
    of the whole run takes hardly longer, or if windows may overlap: those of several processes.
    """
    windows = _windows(profile)
    num_spans = np.array([window.num_spans for _, window in windows], np.int64)
    if num_spans.sum() < FEWEST_SPANS or len(profile.clocks.workers) > 1:
        return None
    steps = captured_steps(profile)
    window_of = _window_of(steps, [window for _, window in windows])
    shown = _in_view(steps, place, _origin(profile, windows[0][0]))
    is_chosen = np.zeros(len(windows) + 1, np.bool_)  # the last for steps without a window
    is_chosen[window_of[shown]] = True
    is_chosen[[0, -2]] = True
    is_chosen[-1] = False
    chosen = np.flatnonzero(is_chosen)
    if num_spans[chosen].sum() > MOST_SHARE * num_spans.sum():
        return None
    timeline = lay_out(profile.of_windows([windows[number][0] for number in chosen]))
    return Opening(timeline, int(num_spans.sum()), _ranges(is_chosen[window_of]))


def _windows(profile: Profile) -> list[tuple[Path, WindowCaptured]]:
    """Return folders and events of the windows in order; none if several processes have some."""
    found: list[tuple[Path, WindowCaptured]] = []
    for source in profile.sources:
        windows = [window for window in source.of_kind(WindowCaptured) if window.error is None]
        if not windows or source.worker is None or source.generation is None:
            continue
        if found:
            return []
        folder = worker_folder(profile.path, source.worker, source.generation).path
        found = [(folder / window.folder, window) for window in windows]
    return found


def _origin(profile: Profile, window: Path) -> int:
    """Return the origin of the run's times, by the spans of its first window."""
    parts = profile.of_windows([window]).parts("spans", ("start_ns",), _starts)
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
    found = np.full(len(step), -1, np.int64)
    for number in np.unique(own_segment).tolist():
        of_segment = np.flatnonzero(segment == number)
        of_segment = of_segment[np.argsort(step[of_segment], kind="stable")]
        mine = np.flatnonzero(own_segment == number)
        edges = np.stack([first[mine], first[mine] + count[mine]], axis=1)
        places = np.searchsorted(step[of_segment], edges)
        for window, (low, high) in zip(mine.tolist(), places.tolist(), strict=True):
            found[of_segment[low:high]] = window
    return found


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
    found: Bools = (end >= from_ns) & (start <= to_ns)
    return found


def _ranges(chosen: Bools) -> list[tuple[int, int]]:
    """Return the first and the last place of each run of chosen ones."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], chosen.view(np.int8), [0]])))
    return [(first, behind - 1) for first, behind in edges.reshape(-1, 2).tolist()]
