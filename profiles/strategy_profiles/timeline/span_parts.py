"""Order the spans of a run by track and start, one part of the table `spans` at a time.

A part, such as the copy of 16 capture windows, is small: its order is found in a thread while
others are read. Parts are in order of time, so that each span is copied once, to its place among
all, by several threads; only tracks of which parts overlap are sorted as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from strategy_profiles.tables.columns import Ints
from strategy_profiles.tables.threads import in_threads

Codes = npt.NDArray[np.int32]
Key = tuple[int, int, str]
"""Worker, replica or -1, and device of a track."""

COLUMNS = (
    "step",
    "worker",
    "device",
    "replica",
    "name",
    "op",
    "category",
    "start_ns",
    "duration_ns",
    "clock",
    "thread",
)
"""Of the table `spans`."""
_TEXTS = ("name", "op", "category")


@dataclass(frozen=True, slots=True)
class SpanPart:
    """Spans in the order of the table, and their order by track, then by start."""

    keys: list[Key]
    order: npt.NDArray[Any]
    """The spans by track and start."""
    bounds: Ints
    """The place of each track's first span in `order`, followed by the number of spans."""
    columns: dict[str, npt.NDArray[Any]]
    """`start`, `end`, `step`, `thread`, `name`, `op` and `category`; texts are numbers in
    `texts`."""
    texts: dict[str, list[str]]
    devices: list[str]
    first: list[tuple[int, str, str]]
    """Start, clock and op of the first span of each track."""


@dataclass(frozen=True, slots=True)
class OrderedSpans:
    """All spans by track, then by start, with texts numbered for the whole run."""

    keys: list[Key]
    bounds: Ints
    """The first span of each track, followed by the number of spans."""
    columns: dict[str, npt.NDArray[Any]]
    texts: dict[str, list[str]]
    """The empty text of spans without one is the last."""
    first: list[tuple[str, str]]
    """Clock and op of the first span of each track."""


def order_part(table: pa.Table) -> SpanPart:
    """Return the spans of a table with `COLUMNS`."""
    start = int_values(table["start_ns"])
    devices, device_names = coded_texts(table["device"])
    runs, keys = _tracks(table, devices, device_names)
    num_spans = np.bincount(runs.track, weights=runs.length, minlength=len(keys))
    bounds = np.concatenate([[0], np.cumsum(num_spans)]).astype(np.int64)
    order = _by_track_and_start(runs, bounds, start)
    texts = {name: coded_texts(table[name]) for name in _TEXTS}
    columns: dict[str, npt.NDArray[Any]] = {
        "start": start,
        "end": start + np.maximum(int_values(table["duration_ns"]), 0),
        "step": int_values(table["step"]).astype(np.int32),
        "thread": int_values(table["thread"]),
        **{name: _small(values, len(known)) for name, (values, known) in texts.items()},
    }
    firsts = order[bounds[:-1]]
    clock = _texts_at(coded_texts(table["clock"]), firsts)
    op = _texts_at(texts["op"], firsts)
    first = list(zip(start[firsts].tolist(), clock, op, strict=True))
    known = {name: names for name, (_, names) in texts.items()}
    order = _small(order, len(order))
    return SpanPart(keys, order, bounds, columns, known, device_names, first)


def join_parts(parts: Sequence[SpanPart]) -> OrderedSpans:
    """Return the spans of all parts, which are in the order of the table."""
    texts = {name: _numbered(part.texts[name] for part in parts) for name in _TEXTS}
    devices = _numbered(part.devices for part in parts)
    keys = sorted(
        {key for part in parts for key in part.keys},
        key=lambda key: (key[0], key[1] < 0, key[1], devices.get(key[2], len(devices))),
    )
    of_track: dict[Key, list[tuple[int, int]]] = {key: [] for key in keys}
    for number, part in enumerate(parts):
        for index, key in enumerate(part.keys):
            of_track[key].append((number, index))
    begins = [np.zeros(len(part.keys), np.int64) for part in parts]
    """Where each part's spans of each of its tracks begin among all."""
    bounds = [0]
    for key in keys:
        at = bounds[-1]
        for number, index in of_track[key]:
            begins[number][index] = at
            at += int(parts[number].bounds[index + 1] - parts[number].bounds[index])
        bounds.append(at)
    columns: dict[str, npt.NDArray[Any]] = {
        name: np.empty(bounds[-1], np.int8 if name == "category" else kind)
        for name, kind in _KINDS.items()
    }
    in_threads(lambda i: _copy(parts[i], begins[i], texts, columns), range(len(parts)))
    tracks = [slice(*each) for each in pairwise(bounds)]
    in_threads(lambda track: _sort(columns, track), tracks)
    first = [min((parts[n].first[p] for n, p in of_track[key]), key=_start)[1:] for key in keys]
    listed = {name: [text or "" for text in texts[name]] for name in _TEXTS}
    return OrderedSpans(keys, np.array(bounds), columns, listed, first)


def _small(numbers: npt.NDArray[Any], below: int) -> npt.NDArray[Any]:
    """Return numbers from 0 below a limit in the smallest type: all parts are in memory at once."""
    return numbers.astype(np.min_scalar_type(below), copy=False)


def _copy(
    part: SpanPart,
    begins: Ints,
    texts: dict[str, dict[str | None, int]],
    columns: dict[str, npt.NDArray[Any]],
) -> None:
    """Copy the spans of a part to their places in `columns`."""
    for name, column in columns.items():
        values = part.columns[name]
        if name in _TEXTS:
            values = _numbers_of(part.texts[name], texts[name]).astype(column.dtype)[values]
        for index, begin in enumerate(begins.tolist()):
            spans = part.order[part.bounds[index] : part.bounds[index + 1]]
            # With another mode, NumPy makes a copy of its own first.
            np.take(values, spans, out=column[begin : begin + len(spans)], mode="clip")


_KINDS = {
    "start": np.int64,
    "end": np.int64,
    "step": np.int32,
    "thread": np.int64,
    "name": np.int32,
    "op": np.int32,
    "category": np.int8,
}


def _start(first: tuple[int, str, str]) -> int:
    return first[0]


def _sort(columns: dict[str, npt.NDArray[Any]], track: slice) -> None:
    """Sort the spans of a track by start, unless they are in order."""
    starts = columns["start"][track]
    if np.all(starts[1:] >= starts[:-1]):
        return
    order = np.argsort(starts, kind="stable")
    for column in columns.values():
        column[track] = column[track][order]


def int_values(column: pa.ChunkedArray) -> Ints:
    """Return an integer column; a null is -1."""
    known = column.fill_null(-1) if column.null_count else column
    values: Ints = known.to_numpy().astype(np.int64, copy=False)
    return values


def coded_texts(column: pa.ChunkedArray) -> tuple[Codes, list[str]]:
    """Return codes and texts of a dictionary column; a null has the empty text, the last one."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    texts = ["" if text is None else text for text in array.dictionary.to_pylist()]
    indices = array.indices.fill_null(len(texts)) if array.null_count else array.indices
    codes = indices.to_numpy(zero_copy_only=False)
    return codes.astype(np.int32, copy=False), [*texts, ""]


@dataclass(frozen=True, slots=True)
class _Runs:
    """Spans of one track that follow each other in the table, all of them in order."""

    track: Codes
    length: Ints


def _tracks(table: pa.Table, devices: Codes, names: list[str]) -> tuple[_Runs, list[Key]]:
    """Return the track of the spans, and each track's key."""
    if not len(devices):
        return _Runs(devices, np.empty(0, np.int64)), []
    workers, replicas = int_values(table["worker"]), int_values(table["replica"])
    is_other = np.ones(len(devices) + 1, np.bool_)
    is_other[1:-1] = devices[1:] != devices[:-1]
    is_other[1:-1] |= replicas[1:] != replicas[:-1]
    is_other[1:-1] |= workers[1:] != workers[:-1]
    begins = np.flatnonzero(is_other)
    first = begins[:-1]
    num_replicas = int(replicas[first].max()) + 2
    # Replicas first, by number; devices without a replica come last.
    combined = np.where(replicas[first] < 0, num_replicas - 1, replicas[first])
    combined += np.maximum(workers[first], 0) * num_replicas
    combined *= len(names)
    combined += devices[first]
    present, numbered = _distinct(combined)
    keys = []
    for code in present.tolist():
        rest, device = divmod(code, len(names))
        worker, replica = divmod(rest, num_replicas)
        keys.append((worker, -1 if replica == num_replicas - 1 else replica, names[device]))
    return _Runs(numbered, np.diff(begins)), keys


def _distinct(values: Ints) -> tuple[Ints, Codes]:
    """Return the distinct values in order, and the number of each."""
    if int(values.max()) > 4 * len(values) + 100_000:  # a table of all possible ones may not fit
        present, places = np.unique(values, return_inverse=True)
        return present, places.astype(np.int32)
    present = np.flatnonzero(np.bincount(values))
    numbers = np.zeros(int(present[-1]) + 1, np.int32)
    numbers[present] = np.arange(len(present))
    return present, numbers[values]


def _by_track_and_start(runs: _Runs, bounds: Ints, start: Ints) -> Ints:
    """Return the order of the spans by track, then by start; spans are recorded in that order.

    `bounds` are those of the tracks.
    """
    # Sorting 16-bit numbers is a radix sort.
    few = len(bounds) <= np.iinfo(np.int16).max
    by_track = np.argsort(runs.track.astype(np.int16) if few else runs.track, kind="stable")
    length = runs.length[by_track]
    moved = (np.cumsum(runs.length) - runs.length)[by_track] - (np.cumsum(length) - length)
    order: Ints = np.repeat(moved, length)
    order += np.arange(len(start))
    starts = start[order]
    earlier = np.flatnonzero(starts[1:] < starts[:-1]) + 1
    if np.isin(earlier, bounds).all():
        return order
    return np.lexsort((start, np.repeat(runs.track, runs.length)))


def _texts_at(column: tuple[Codes, list[str]], rows: Ints) -> list[str]:
    """Return the texts that a dictionary column has in some rows."""
    codes, texts = column
    return [texts[code] for code in codes[rows].tolist()]


def _numbered(lists: Iterable[list[str]]) -> dict[str | None, int]:
    """Return the number of each text by its first place; None, the last, is for no text."""
    numbers: dict[str | None, int] = {}
    for texts in lists:
        for text in texts[:-1]:
            numbers.setdefault(text, len(numbers))
    numbers[None] = len(numbers)
    return numbers


def _numbers_of(texts: list[str], numbers: dict[str | None, int]) -> Codes:
    return np.array([*(numbers[text] for text in texts[:-1]), numbers[None]], np.int32)
