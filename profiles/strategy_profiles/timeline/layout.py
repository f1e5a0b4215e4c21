"""Lay out a run's spans: one track per worker and device, one row per lane of a track.

Times are nanoseconds since `origin_ns`, the start of the run's first step. If the workers' clock
offsets are known, all times are on the reference clock (`strategy_profiles.timeline.one_clock`).
Each track names its clock. Times on a device's clock are shown beside host times but never compared
with them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from strategy_profiles.analysis.clocks import worker_clocks
from strategy_profiles.capture.grouping import groups_by
from strategy_profiles.tables.columns import Ints, is_one_of, of_steps
from strategy_profiles.tables.schema import CATEGORIES
from strategy_profiles.tables.store import Profile
from strategy_profiles.tables.threads import in_threads, meanwhile
from strategy_profiles.timeline.lanes import assign_lanes
from strategy_profiles.timeline.one_clock import (
    MARKED,
    parts_on_one_clock,
    set_ahead_ns,
    table_on_one_clock,
    uncaptured_steps,
)
from strategy_profiles.timeline.span_parts import (
    COLUMNS,
    Key,
    OrderedSpans,
    coded_texts,
    int_values,
    join_parts,
    order_part,
)

COLLECTIVE, WAIT, TRANSFER = "collective", "wait", "transfer"
"""Categories of spans: a collective is waiting for the last rank, then transfer."""


@dataclass(frozen=True, slots=True)
class Track:
    """A device of a worker, and the rows of its spans."""

    worker: int
    title: str
    """The display name of the process. With parameter servers, process 1 is worker 0."""
    replica: int | None
    device: str
    clock: str
    """The clock of the times, and how accurately its offset to the common clock is known."""
    is_marked: bool
    """Whether the spans come from in-graph timestamps (marks) and not from op events."""
    first_row: int
    num_rows: int

    @property
    def rows(self) -> range:
        return range(self.first_row, self.first_row + self.num_rows)


@dataclass(frozen=True)
class Timeline:
    """Spans ordered by row, then by start; spans of one row never overlap.

    Columns of spans have the same length.
    """

    origin_ns: int
    length_ns: int
    tracks: tuple[Track, ...]
    row_starts: Ints
    """The index of each row's first span, followed by the number of spans."""
    start: Ints
    end: Ints
    step: npt.NDArray[np.int32]
    name: npt.NDArray[np.int32]
    op: npt.NDArray[np.int32]
    category: npt.NDArray[np.int8]
    names: list[str]
    ops: list[str]
    categories: list[str]
    waits: dict[str, Ints]
    """Spans of collectives of which it is known when the last rank had started: `span`, ascending,
    and `waited`, the ns from the span's start until then. What is left of the span is transfer."""
    steps: dict[str, list[Any]]
    """Captured steps: `step`, `segment`, `start` and `end`, in order of time."""
    links: dict[str, Ints]
    """The ranks of collectives in order of start: `group`, `row`, `start`, `moving` (when the last
    rank had started), `end`, `op` (in `link_ops`), `bytes` (-1 if unknown) and `is_derived` (from
    the sends of an algorithm: its time is in their spans already)."""
    link_ops: list[str]
    _thread: Ints
    """The thread of each span, -1 if unknown."""
    _read_split_steps: Callable[[], dict[str, Ints]] = field(repr=False)
    _read_sends: Callable[[], dict[str, Ints]] = field(repr=False)

    @cached_property
    def split_steps(self) -> dict[str, Ints]:
        """The phases of captured steps in ns, one entry per replica: `step` (a number of `steps`),
        `replica`, and one column per phase. Read when first used: no view shows them."""
        return self._read_split_steps()

    @cached_property
    def sends(self) -> dict[str, Ints]:
        """Tensors sent from device to device in order of start: `from_row`, `to_row`, `start`,
        `end` (-1 if unknown) and `bytes` (-1 if unknown). Read when first used, likewise."""
        return self._read_sends()

    @property
    def num_spans(self) -> int:
        return len(self.start)

    @property
    def num_rows(self) -> int:
        return len(self.row_starts) - 1

    @property
    def drawn_categories(self) -> list[str]:
        """The categories in which something is drawn, in the order in which charts stack phases. A
        collective is drawn as what it consists of."""
        counts = np.bincount(self.category, minlength=len(self.categories))
        if len(self.waits["span"]):
            counts[self.category[self.waits["span"][0]]] -= len(self.waits["span"])
            counts[[self.categories.index(name) for name in (WAIT, TRANSFER)]] += 1
        drawn = [n for n, count in zip(self.categories, counts, strict=True) if n and count]
        return sorted(drawn, key=[*CATEGORIES, *drawn].index)

    def waited(self, spans: Ints) -> Ints:
        """Return the ns that each of these spans waited for the last rank, -1 if unknown."""
        waited = np.full(len(spans), -1, np.int64)
        known = self.waits["span"]
        if len(known):
            at = np.minimum(np.searchsorted(known, spans), len(known) - 1)
            is_known = known[at] == spans
            waited[is_known] = self.waits["waited"][at[is_known]]
        return waited

    def span_at(self, row: int, start_ns: int) -> int | None:
        """Return the number of the span that starts there on a row; None if none does."""
        first, end = self.row_starts[row], self.row_starts[row + 1]
        at = int(first + np.searchsorted(self.start[first:end], start_ns))
        return at if at < end and self.start[at] == start_ns else None

    def waits_of(self, spans: Ints | slice) -> tuple[Ints, Ints]:
        """Return the places among `spans` of those whose wait is known, and the ns of each.

        `spans` are numbers of spans, or a range of them.
        """
        if isinstance(spans, slice):
            low, high = np.searchsorted(self.waits["span"], [spans.start, spans.stop])
            return self.waits["span"][low:high] - spans.start, self.waits["waited"][low:high]
        waited = self.waited(spans)
        places = np.flatnonzero(waited >= 0)
        return places, waited[places]

    def threads(self, spans: Ints) -> Ints:
        """Return the thread of each of these spans, -1 if unknown."""
        return self._thread[spans]


def lay_out(profile: Profile, only: Collection[int] | None = None) -> Timeline:
    """Return the timeline of a run, or of some of its steps. Without spans it has no tracks.

    Args:
      only: the numbers of the steps, -1 for what is outside of every step; None for all. Of a long
        run, some steps take less time and memory than all.
    """
    with meanwhile(lambda: profile.table("collectives")):
        spans = join_parts(parts_on_one_clock(profile, "spans", COLUMNS, order_part, only))
    start, end = spans.columns["start"], spans.columns["end"]
    steps = captured_steps(profile, only)
    origin = origin_of(profile, start)
    start -= origin
    end -= origin
    clocks = _clock_texts(profile, spans.keys, [clock for clock, _ in spans.first])
    facts = list(zip(clocks, [op.endswith(MARKED) for _, op in spans.first], strict=True))
    tracks, row_starts = _sort_into_rows(spans, facts, profile.process_titles)
    for key in ("start", "end"):
        steps[key] = [value - origin for value in steps[key]]
    last_step = max(steps["end"], default=0)
    links, link_ops = _links(profile, only, tracks, origin, start, row_starts)
    category, categories = spans.columns["category"], spans.texts["category"]
    waits = _waits(links, start, end, row_starts, category == _code(categories, COLLECTIVE))
    return Timeline(
        origin_ns=origin,
        length_ns=max(int(end.max()) if len(end) else 0, last_step, 1),
        tracks=tuple(tracks),
        row_starts=row_starts,
        start=start,
        end=end,
        step=spans.columns["step"],
        name=spans.columns["name"],
        op=spans.columns["op"],
        category=category,
        names=spans.texts["name"],
        ops=spans.texts["op"],
        categories=_with_parts(categories) if len(waits["span"]) else categories,
        waits=waits,
        steps=steps,
        links=links,
        link_ops=link_ops,
        _thread=spans.columns["thread"],
        _read_split_steps=lambda: _split_steps(profile, only, steps),
        _read_sends=lambda: _sends(profile, only, tracks, origin, start, row_starts),
    )


def origin_of(profile: Profile, start: Ints) -> int:
    """Return the start of the run's first step, or of the first span if that is earlier.

    The timeline may show only later steps.
    """
    first = pc.min(table_on_one_clock(profile, "steps")["start_ns"]).as_py()
    known = [] if first is None else [int(first)]
    return min([*known, *([int(start.min())] if len(start) else [])], default=0)


def since_origin(profile: Profile, timeline: Timeline, step: int, recorded_ns: int) -> int:
    """Return a time as it was recorded at a step, in ns since the timeline's origin."""
    ahead_ns = set_ahead_ns(profile, np.array([step]), np.array([recorded_ns]))
    return recorded_ns - int(ahead_ns[0]) - timeline.origin_ns


def _clock_texts(profile: Profile, keys: Sequence[Key], clocks: Sequence[str]) -> list[str]:
    """Describe each track's clock and, with several workers, its offset to the reference clock."""
    clock_of = {answer.worker: answer for answer in worker_clocks(profile)}
    return [
        f"{clock} of {clock_of[worker].title}: {clock_of[worker].sentence}"
        if worker in clock_of
        else clock
        for (worker, _, _), clock in zip(keys, clocks, strict=True)
    ]


def _sort_into_rows(
    spans: OrderedSpans, facts: Sequence[tuple[str, bool]], titles: Mapping[int, str]
) -> tuple[list[Track], Ints]:
    """Sort the spans of each track by row, in place; return the tracks and `Timeline.row_starts`.

    `facts` are the clock of each track, and whether its spans come from marks.
    """
    tracks: list[Track] = []
    counts = [np.empty(0, np.int64)]
    first_row = 0
    parts = [slice(*each) for each in pairwise(spans.bounds.tolist())]
    in_rows = in_threads(lambda part: _sort_by_lane(spans.columns, part), parts)
    for number, ((worker, replica, device), in_row) in enumerate(
        zip(spans.keys, in_rows, strict=True)
    ):
        counts.append(in_row)
        known = None if replica < 0 else replica
        title = titles.get(worker, f"worker {worker}")
        num_rows = len(in_row)
        tracks.append(Track(worker, title, known, device, *facts[number], first_row, num_rows))
        first_row += num_rows
    row_starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    return tracks, row_starts


def _sort_by_lane(columns: dict[str, npt.NDArray[Any]], track: slice) -> Ints:
    """Sort the spans of a track by lane, in place; return how many each lane has."""
    lanes = assign_lanes(columns["start"][track], columns["end"][track])
    counts = np.bincount(lanes)
    if len(counts) > 1:
        # Sorting 16-bit numbers is a radix sort.
        few = len(counts) <= np.iinfo(np.int16).max
        by_lane = np.argsort(lanes.astype(np.int16) if few else lanes, kind="stable")
        for column in columns.values():
            column[track] = column[track][by_lane]
    return counts


def captured_steps(profile: Profile, only: Collection[int] | None = None) -> dict[str, list[Any]]:
    """Return the steps with spans as `Timeline.steps`, but with times since 1970."""
    table = of_steps(table_on_one_clock(profile, "steps"), only)
    only_marked = uncaptured_steps(profile)
    is_shown = np.isin(int_values(table["step"]), only_marked) if len(only_marked) else None
    mask = table["captured"] if is_shown is None else pa.array(is_shown)
    table = table.filter(mask).sort_by("start_ns")
    starts = table["start_ns"].to_pylist()
    lengths = [round((wall_ms or 0) * 1e6) for wall_ms in table["wall_ms"].to_pylist()]
    return {
        "step": table["step"].to_pylist(),
        "segment": table["segment"].to_pylist(),
        "start": starts,
        "end": [start + length for start, length in zip(starts, lengths, strict=True)],
    }


def _split_steps(
    profile: Profile, only: Collection[int] | None, steps: Mapping[str, list[Any]]
) -> dict[str, Ints]:
    table = of_steps(profile.table("replica_steps"), only)
    pairs = zip(steps["segment"], steps["step"], strict=True)
    numbers = {pair: number for number, pair in enumerate(pairs)}
    keys = zip(
        int_values(table["segment"]).tolist(), int_values(table["step"]).tolist(), strict=True
    )
    step = np.array([numbers.get(key, -1) for key in keys], np.int64)
    columns = {"step": step, "replica": int_values(table["replica"])}
    for name in CATEGORIES:
        columns[name] = np.rint(table[f"{name}_ms"].to_numpy() * 1e6).astype(np.int64)
    return {name: values[step >= 0] for name, values in columns.items()}


def _links(
    profile: Profile,
    only: Collection[int] | None,
    tracks: list[Track],
    origin: int,
    start_of: Ints,
    row_starts: Ints,
) -> tuple[dict[str, Ints], list[str]]:
    """Return the ranks of collectives, and the names of their ops. Ranks of one instance share a
    group.

    A collective without an instance number is identified by its name.
    """
    table = of_steps(table_on_one_clock(profile, "collectives"), only)
    track = _tracks_of(table, "device", tracks)
    instance = int_values(table["instance"])
    name = np.where(instance < 0, coded_texts(table["name"])[0], -1)
    steps = (int_values(table["segment"]), int_values(table["step"]))
    group = groups_by(*steps, instance, name.astype(np.int64))
    start = int_values(table["start_ns"]) - origin
    waited, moved = (table[name].fill_null(0.0).to_numpy() for name in ("wait_ms", "transfer_ms"))
    op, ops = coded_texts(table["op"])
    columns = {
        "group": group,
        "row": _rows_on(track, start, tracks, start_of, row_starts),
        "start": start,
        "moving": start + (waited * 1e6).astype(np.int64),
        "end": start + ((waited + moved) * 1e6).astype(np.int64),
        "op": op,
        "bytes": int_values(table["bytes"]),
        "is_derived": is_one_of(table, "source", ["derived"]).astype(np.int64),
    }
    return _in_order(columns, track >= 0), ops


def _waits(
    links: Mapping[str, Ints],
    start: Ints,
    end: Ints,
    row_starts: Ints,
    is_collective: npt.NDArray[np.bool_],
) -> dict[str, Ints]:
    """Return `Timeline.waits`: the spans that begin where a rank of a measured collective does."""
    spans, waited = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    measured = np.flatnonzero(links["is_derived"] == 0)
    for row in np.unique(links["row"][measured]).tolist():
        ranks = measured[links["row"][measured] == row]
        first, last = row_starts[row], row_starts[row + 1]
        at = first + np.searchsorted(start[first:last], links["start"][ranks])
        at = np.minimum(at, last - 1)
        own = (start[at] == links["start"][ranks]) & is_collective[at]
        at, ranks = at[own], ranks[own]
        spans.append(at)
        waited.append(np.clip(links["moving"][ranks] - start[at], 0, end[at] - start[at]))
    span, once = np.unique(np.concatenate(spans), return_index=True)
    return {"span": span, "waited": np.concatenate(waited)[once]}


def _code(categories: Sequence[str], name: str) -> int:
    """Return the number of a category, -1 if no span has it."""
    return categories.index(name) if name in categories else -1


def _with_parts(categories: list[str]) -> list[str]:
    """Return the categories with those that a collective consists of."""
    return [*categories, *(name for name in (WAIT, TRANSFER) if name not in categories)]


def _sends(
    profile: Profile,
    only: Collection[int] | None,
    tracks: list[Track],
    origin: int,
    start_of: Ints,
    row_starts: Ints,
) -> dict[str, Ints]:
    """Return the tensors that one device sent to another, both being on the timeline."""
    table = of_steps(table_on_one_clock(profile, "transfers"), only)
    start = int_values(table["start_ns"]) - origin
    lasted = table["duration_ms"].fill_null(np.nan).to_numpy()
    known = np.isfinite(lasted)
    ends = {name: _tracks_of(table, f"{name}_device", tracks) for name in ("send", "recv")}
    columns = {
        "from_row": _rows_on(ends["send"], start, tracks, start_of, row_starts),
        "to_row": _rows_on(ends["recv"], start, tracks, start_of, row_starts),
        "start": start,
        "end": np.where(known, start + (np.where(known, lasted, 0) * 1e6).astype(np.int64), -1),
        "bytes": int_values(table["bytes"]),
    }
    return _in_order(columns, (ends["send"] >= 0) & (ends["recv"] >= 0))


def _in_order(columns: Mapping[str, Ints], mask: npt.NDArray[np.bool_]) -> dict[str, Ints]:
    order = np.argsort(columns["start"], kind="stable")
    order = order[mask[order]]
    return {key: values[order].astype(np.int64) for key, values in columns.items()}


def _tracks_of(table: pa.Table, column: str, tracks: list[Track]) -> Ints:
    """Return the track of each row's worker and device; -1 if it is not on the timeline."""
    devices, names = coded_texts(table[column])
    workers = np.maximum(int_values(table["worker"]), 0)
    known = np.full((int(workers.max(initial=0)) + 1, len(names)), -1, np.int64)
    numbers = {name: i for i, name in enumerate(names)}
    for number, track in enumerate(tracks):
        if track.device in numbers and track.worker < len(known):
            known[track.worker, numbers[track.device]] = number
    numbers_of: Ints = known[workers, devices]
    return numbers_of


def _rows_on(
    track: Ints, start: Ints, tracks: list[Track], start_of: Ints, row_starts: Ints
) -> Ints:
    row = np.zeros(len(track), np.int64)
    for number, own in enumerate(tracks):
        mine = track == number
        row[mine] = _rows_of(start[mine], own, start_of, row_starts)
    return row


def _rows_of(start: Ints, track: Track, start_of: Ints, row_starts: Ints) -> Ints:
    """Return the track's row with a span that starts at each time, or else its first row."""
    rows = np.full(len(start), track.first_row, np.int64)
    for row in track.rows:
        starts = start_of[row_starts[row] : row_starts[row + 1]]
        at = np.minimum(np.searchsorted(starts, start), len(starts) - 1)
        rows[starts[at] == start] = row
    return rows
