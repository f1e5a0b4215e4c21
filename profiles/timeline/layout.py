"""Lay out a run's spans: one track per worker and device, one row per lane of a track.

Times are nanoseconds since `origin_ns`, the start of the run's first step. If the workers' clock
offsets are known, all times are on the reference clock (`profiles.timeline.one_clock`). Each track
names its clock. Times on a device's clock are shown beside host times but never compared with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from strategy_lab.profiles.analysis.clocks import worker_clocks
from strategy_lab.profiles.tables.store import Profile
from strategy_lab.profiles.timeline.lanes import assign_lanes
from strategy_lab.profiles.timeline.one_clock import MARKED, table_on_one_clock, uncaptured_steps

Ints = npt.NDArray[np.int64]
_Key = tuple[int, int, str]
_FEW_KEYS = 1_000_000


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
    steps: dict[str, list[Any]]
    """Captured steps: `step`, `segment`, `start` and `end`, in order of time."""
    links: dict[str, Ints]
    """The ranks of collectives: `group`, `row`, `start`, `end`, in order of start."""

    @property
    def num_spans(self) -> int:
        return len(self.start)

    @property
    def num_rows(self) -> int:
        return len(self.row_starts) - 1


def lay_out(profile: Profile) -> Timeline:
    """Return the timeline of a run. A run without spans has no tracks."""
    table = table_on_one_clock(profile, "spans")
    start = _ints(table["start_ns"])
    end = start + np.maximum(_ints(table["duration_ns"]), 0)
    steps = _captured_steps(profile)
    origin = _origin(profile, start)
    start, end = start - origin, end - origin
    codes, keys = _tracks(table)
    order = _by_track_and_start(codes, start)
    start, end, codes = start[order], end[order], codes[order]
    clocks = _clock_texts(profile, keys, _first_texts(table["clock"], order, codes))
    marked = [op.endswith(MARKED) for op in _first_texts(table["op"], order, codes)]
    facts = list(zip(clocks, marked, strict=True))
    rows, tracks = _rows(start, end, codes, keys, facts, profile.process_titles)
    by_row = np.argsort(rows, kind="stable")
    order, start, end, rows = order[by_row], start[by_row], end[by_row], rows[by_row]
    num_rows = tracks[-1].first_row + tracks[-1].num_rows if tracks else 0
    row_starts = np.searchsorted(rows, np.arange(num_rows + 1)).astype(np.int64)
    columns = {name: _dictionary(table[name]) for name in ("name", "op", "category")}
    for key in ("start", "end"):
        steps[key] = [value - origin for value in steps[key]]
    last_step = max(steps["end"], default=0)
    return Timeline(
        origin_ns=origin,
        length_ns=max(int(end.max()) if len(end) else 0, last_step, 1),
        tracks=tuple(tracks),
        row_starts=row_starts,
        start=start,
        end=end,
        step=_ints(table["step"])[order].astype(np.int32),
        name=columns["name"][0][order].astype(np.int32),
        op=columns["op"][0][order].astype(np.int32),
        category=columns["category"][0][order].astype(np.int8),
        names=columns["name"][1],
        ops=columns["op"][1],
        categories=columns["category"][1],
        steps=steps,
        links=_links(profile, tracks, origin, start, row_starts),
    )


def _origin(profile: Profile, start: Ints) -> int:
    """Return the start of the run's first step, or of the first span if that is earlier.

    The timeline may show only later steps.
    """
    first = pc.min(profile.table("steps")["start_ns"]).as_py()
    known = [] if first is None else [int(first)]
    return min([*known, *([int(start.min())] if len(start) else [])], default=0)


def _ints(column: pa.ChunkedArray) -> Ints:
    values: Ints = column.fill_null(-1).to_numpy().astype(np.int64, copy=False)
    return values


def _dictionary(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """Return codes and texts of a dictionary column; a null has the empty text."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    texts = ["" if text is None else text for text in array.dictionary.to_pylist()]
    codes = array.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), [*texts, ""]


def _tracks(table: pa.Table) -> tuple[Ints, list[_Key]]:
    """Return the track number of each span, and each track's (worker, replica or -1, device)."""
    devices, names = _dictionary(table["device"])
    workers, replicas = _ints(table["worker"]), _ints(table["replica"])
    if not len(devices):
        return devices, []
    num_replicas = int(replicas.max()) + 2
    # Replicas first, by number; devices without a replica come last.
    rank = np.where(replicas < 0, num_replicas - 1, replicas)
    combined = (np.maximum(workers, 0) * num_replicas + rank) * len(names) + devices
    if int(combined.max()) < 10 * len(combined) + _FEW_KEYS:
        # Counting takes a tenth of the time of sorting, but memory for every possible key.
        present = np.flatnonzero(np.bincount(combined))
        numbers = np.zeros(int(present[-1]) + 1, np.int64)
        numbers[present] = np.arange(len(present))
        numbered = numbers[combined]
    else:
        present, numbered = np.unique(combined, return_inverse=True)
    keys = []
    for code in present.tolist():
        rest, device = divmod(code, len(names))
        worker, replica = divmod(rest, num_replicas)
        keys.append((worker, -1 if replica == num_replicas - 1 else replica, names[device]))
    return numbered, keys


def _by_track_and_start(codes: Ints, start: Ints) -> Ints:
    """Return the order of the spans by track, then by start."""
    span = int(start.max(initial=0)) + 1
    if (int(codes.max(initial=0)) + 1) * span < 2**63:
        # One key for track and start needs only a single integer sort.
        return np.argsort(codes * span + start, kind="stable")
    return np.lexsort((start, codes))


def _first_texts(column: pa.ChunkedArray, order: Ints, codes: Ints) -> list[str]:
    """Return the column's text for the first span of each track."""
    values, names = _dictionary(column)
    if not len(codes):
        return []
    firsts = np.searchsorted(codes, np.arange(int(codes[-1]) + 1))
    return [names[values[order[first]]] for first in firsts.tolist()]


def _clock_texts(profile: Profile, keys: Sequence[_Key], clocks: Sequence[str]) -> list[str]:
    """Describe each track's clock and, with several workers, its offset to the reference clock."""
    told = {answer.worker: answer for answer in worker_clocks(profile)}
    return [
        f"{clock} of {told[worker].title}: {told[worker].sentence}" if worker in told else clock
        for (worker, _, _), clock in zip(keys, clocks, strict=True)
    ]


def _rows(
    start: Ints,
    end: Ints,
    codes: Ints,
    keys: Sequence[_Key],
    facts: Sequence[tuple[str, bool]],
    titles: Mapping[int, str],
) -> tuple[Ints, list[Track]]:
    """Return the row of each span, and the tracks in order.

    The spans must be sorted by track, then by start.
    """
    rows = np.zeros(len(start), np.int64)
    tracks: list[Track] = []
    first_row = 0
    bounds = np.searchsorted(codes, np.arange(len(keys) + 1))
    for number, (worker, replica, device) in enumerate(keys):
        part = slice(bounds[number], bounds[number + 1])
        lanes = assign_lanes(start[part], end[part])
        rows[part] = lanes + first_row
        num_rows = int(lanes.max()) + 1
        known = None if replica < 0 else replica
        title = titles.get(worker, f"worker {worker}")
        tracks.append(Track(worker, title, known, device, *facts[number], first_row, num_rows))
        first_row += num_rows
    return rows, tracks


def _captured_steps(profile: Profile) -> dict[str, list[Any]]:
    table = profile.table("steps")
    only_marked = uncaptured_steps(profile)
    is_shown = np.isin(_ints(table["step"]), only_marked) if len(only_marked) else None
    shown = table["captured"] if is_shown is None else pa.array(is_shown)
    table = table.filter(shown).sort_by("start_ns")
    starts = table["start_ns"].to_pylist()
    lengths = [round((wall_ms or 0) * 1e6) for wall_ms in table["wall_ms"].to_pylist()]
    return {
        "step": table["step"].to_pylist(),
        "segment": table["segment"].to_pylist(),
        "start": starts,
        "end": [start + length for start, length in zip(starts, lengths, strict=True)],
    }


def _links(
    profile: Profile, tracks: list[Track], origin: int, start_of: Ints, row_starts: Ints
) -> dict[str, Ints]:
    """Return the ranks of collectives. Ranks of one instance share a group.

    A collective without an instance number is identified by its name.
    """
    table = table_on_one_clock(profile, "collectives")
    numbers = {(track.worker, track.device): i for i, track in enumerate(tracks)}
    devices, names = _dictionary(table["device"])
    workers = _ints(table["worker"]).tolist()
    track = np.array(
        [numbers.get((worker, names[d]), -1) for worker, d in zip(workers, devices, strict=True)],
        np.int64,
    )
    instance = _ints(table["instance"])
    name = np.where(instance < 0, _dictionary(table["name"])[0], -1)
    group = np.zeros(len(track), np.int64)
    for part in (_ints(table["segment"]), _ints(table["step"]), instance, name):
        _, place = np.unique(part, return_inverse=True)
        group = np.unique(group * (len(part) + 1) + place, return_inverse=True)[1]
    start = _ints(table["start_ns"]) - origin
    lasted = [table[column].fill_null(0.0).to_numpy() for column in ("wait_ms", "transfer_ms")]
    end = start + ((lasted[0] + lasted[1]) * 1e6).astype(np.int64)
    row = np.zeros(len(track), np.int64)
    for number, found in enumerate(tracks):
        mine = track == number
        row[mine] = _rows_of(start[mine], found, start_of, row_starts)
    order = np.argsort(start, kind="stable")
    order = order[track[order] >= 0]
    columns = {"group": group, "row": row, "start": start, "end": end}
    return {key: values[order].astype(np.int64) for key, values in columns.items()}


def _rows_of(start: Ints, track: Track, start_of: Ints, row_starts: Ints) -> Ints:
    """Return the track's row with a span that starts at each time, or else its first row."""
    rows = np.full(len(start), track.first_row, np.int64)
    for row in range(track.first_row, track.first_row + track.num_rows):
        starts = start_of[row_starts[row] : row_starts[row + 1]]
        at = np.minimum(np.searchsorted(starts, start), len(starts) - 1)
        rows[starts[at] == start] = row
    return rows
