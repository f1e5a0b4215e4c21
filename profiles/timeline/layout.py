"""A run's spans sorted onto rows: one track per worker and device, one row per lane of a track.

Times are nanoseconds since `origin_ns`, on the clock that each track names; tracks whose clocks
differ are drawn above one another, never computed with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from profiles.store import Profile
from profiles.timeline.lanes import assign_lanes

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Track:
    """A device of a worker, and the rows that its spans take."""

    worker: int
    replica: int | None
    device: str
    clock: str
    first_row: int
    num_rows: int


@dataclass(frozen=True)
class Timeline:
    """Spans by row, then by start; spans of one row never overlap. Columns are of one length."""

    origin_ns: int
    length_ns: int
    tracks: tuple[Track, ...]
    row_starts: Ints
    """Where each row's spans begin in the columns, and one more for the end."""
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
    """Ranks of collectives, by group: `group`, `track`, `start`, `end`, in order of start."""

    @property
    def num_spans(self) -> int:
        return len(self.start)

    @property
    def num_rows(self) -> int:
        return len(self.row_starts) - 1


def lay_out(profile: Profile) -> Timeline:
    """The timeline of a run; one without spans has no tracks."""
    table = profile.table("spans")
    start = _ints(table["start_ns"])
    end = start + np.maximum(_ints(table["duration_ns"]), 0)
    steps = _captured_steps(profile)
    origin = int(min([*start[:1], *steps["start"]], default=0))
    origin = int(min(origin, start.min())) if len(start) else origin
    start, end = start - origin, end - origin
    codes, keys = _tracks(table)
    # One key for track and start: a single sort of whole numbers.
    order = np.argsort(codes * (int(start.max(initial=0)) + 1) + start, kind="stable")
    start, end, codes = start[order], end[order], codes[order]
    rows, tracks = _rows(start, end, codes, keys, _clocks(table, order, codes))
    by_row = np.argsort(rows, kind="stable")
    order, start, end, rows = order[by_row], start[by_row], end[by_row], rows[by_row]
    num_rows = tracks[-1].first_row + tracks[-1].num_rows if tracks else 0
    columns = {name: _dictionary(table[name]) for name in ("name", "op", "category")}
    for key in ("start", "end"):
        steps[key] = [value - origin for value in steps[key]]
    last_step = max(steps["end"], default=0)
    return Timeline(
        origin_ns=origin,
        length_ns=max(int(end.max()) if len(end) else 0, last_step, 1),
        tracks=tuple(tracks),
        row_starts=np.searchsorted(rows, np.arange(num_rows + 1)).astype(np.int64),
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
        links=_links(profile, tracks, origin),
    )


def _ints(column: pa.ChunkedArray) -> Ints:
    values: Ints = column.fill_null(-1).to_numpy().astype(np.int64, copy=False)
    return values


def _dictionary(column: pa.ChunkedArray) -> tuple[Ints, list[str]]:
    """Codes and texts of a dictionary column; a null is the text ``."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    texts = ["" if text is None else text for text in array.dictionary.to_pylist()]
    codes = array.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), [*texts, ""]


def _tracks(table: pa.Table) -> tuple[Ints, list[tuple[int, int, str]]]:
    """Per span the number of its track, and each track's (worker, replica or -1, device)."""
    devices, names = _dictionary(table["device"])
    workers, replicas = _ints(table["worker"]), _ints(table["replica"])
    if not len(devices):
        return devices, []
    num_replicas = int(replicas.max()) + 2
    # Replicas first, by number; what serves no replica comes last.
    rank = np.where(replicas < 0, num_replicas - 1, replicas)
    combined = (np.maximum(workers, 0) * num_replicas + rank) * len(names) + devices
    present = np.flatnonzero(np.bincount(combined))
    numbers = np.zeros(int(present[-1]) + 1, np.int64)
    numbers[present] = np.arange(len(present))
    keys = []
    for code in present.tolist():
        rest, device = divmod(code, len(names))
        worker, replica = divmod(rest, num_replicas)
        keys.append((worker, -1 if replica == num_replicas - 1 else replica, names[device]))
    return numbers[combined], keys


def _clocks(table: pa.Table, order: Ints, codes: Ints) -> list[str]:
    """The clock of each track: that of its first span."""
    clocks, names = _dictionary(table["clock"])
    if not len(codes):
        return []
    firsts = np.searchsorted(codes, np.arange(int(codes[-1]) + 1))
    return [names[clocks[order[first]]] for first in firsts.tolist()]


def _rows(
    start: Ints, end: Ints, codes: Ints, keys: list[tuple[int, int, str]], clocks: list[str]
) -> tuple[Ints, list[Track]]:
    """Per span its row, and the tracks in order; spans are sorted by track, then by start."""
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
        tracks.append(Track(worker, known, device, clocks[number], first_row, num_rows))
        first_row += num_rows
    return rows, tracks


def _captured_steps(profile: Profile) -> dict[str, list[Any]]:
    table = profile.table("steps")
    table = table.filter(table["captured"]).sort_by("start_ns")
    starts = table["start_ns"].to_pylist()
    lengths = [round((wall_ms or 0) * 1e6) for wall_ms in table["wall_ms"].to_pylist()]
    return {
        "step": table["step"].to_pylist(),
        "segment": table["segment"].to_pylist(),
        "start": starts,
        "end": [start + length for start, length in zip(starts, lengths, strict=True)],
    }


def _links(profile: Profile, tracks: list[Track], origin: int) -> dict[str, Ints]:
    table = profile.table("collectives")
    numbers = {(track.worker, track.device): i for i, track in enumerate(tracks)}
    devices, names = _dictionary(table["device"])
    workers = _ints(table["worker"])
    track = np.array(
        [numbers.get((w, names[d]), -1) for w, d in zip(workers.tolist(), devices, strict=True)],
        np.int64,
    )
    group = np.zeros(len(track), np.int64)
    parts = [_ints(table[name]) for name in ("segment", "step", "instance")]
    for part in (*parts, _dictionary(table["name"])[0]):
        group = np.unique(
            group * (int(np.max(part, initial=0)) + 2) + part + 1, return_inverse=True
        )[1]
    start = _ints(table["start_ns"]) - origin
    lasted = [table[name].fill_null(0.0).to_numpy() for name in ("wait_ms", "transfer_ms")]
    end = start + ((lasted[0] + lasted[1]) * 1e6).astype(np.int64)
    order = np.argsort(start, kind="stable")
    order = order[track[order] >= 0]
    columns = {"group": group, "track": track, "start": start, "end": end}
    return {name: values[order].astype(np.int64) for name, values in columns.items()}
