"""Decode an XSpace into columns: only the events that say something about a distributed step.

Measured on TensorFlow 2.21 (CPU): a synchronous op is one event `node name:Op`. An asynchronous
one (`_Recv`) is no interval of its own; the executor marks where it was issued
(`ExecutorState::ProcessAsync::Start`) and where it was done (`...::Done`), both with the node's
name. A collective has both, and an interval from its launch to its end that includes the waiting
for its peers. Events nobody needs (thread pool bookkeeping, tf.data internals, memory) are dropped
by their metadata id, before anything else of them is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profiles.capture import wire
from profiles.capture.xplane_message import xspace_class
from profiles.errors import LabError

Ints = NDArray[np.int64]

STEP_EVENT = "train"
INPUT_EVENT = "strategy-lab input"
"""What the recorder's own annotations are called in a capture."""

DROP, OP, STEP, INPUT, CALL, ISSUED, DONE = range(7)
_ASYNC = "ExecutorState::ProcessAsync::"
_OP_NAME = re.compile(r"(?P<node>.*[^:\s]):(?P<op>[A-Za-z_]\w*)", re.DOTALL)
_GET_NEXT = re.compile(r"EagerLocalExecute: (IteratorGetNext|OptionalGetValue)")
_FUNCTION = re.compile(r"EagerLocalExecute: __")
_DEVICE_PLANE = re.compile(r"/device:(GPU:\d+)")
_EPOCH_NS = 10**18
"""Line times above this are since the epoch, below since the capture's start (2001 divides)."""


@dataclass(frozen=True, slots=True)
class Events:
    """One kind of event as columns, times in integer nanoseconds since the epoch."""

    name: Ints
    """Index into `XSpaceColumns.names`."""
    start_ns: Ints
    end_ns: Ints
    thread: Ints
    key: Ints
    """Collectives: instance key; steps: step number; async marks: the executor's step id."""

    def __len__(self) -> int:
        return len(self.start_ns)

    def take(self, index: Any) -> Events:
        return Events(*(getattr(self, column.name)[index] for column in fields(self)))


@dataclass(slots=True)
class XSpaceColumns:
    """What a capture says, by kind of event."""

    names: list[str] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    """Parallel to `names`: the op type, or empty where the name is no op's."""
    by_kind: dict[int, Events] = field(default_factory=dict)
    device_events: dict[str, Events] = field(default_factory=dict)
    """Kernels by accelerator (`GPU:0`), on that device's own clock."""
    num_events: int = 0
    num_dropped: int = 0

    def events(self, kind: int) -> Events:
        return self.by_kind.get(kind, _empty())


def decode(data: bytes) -> XSpaceColumns:
    """Columns of a serialized XSpace. Raises LabError where the bytes are none."""
    try:
        space = xspace_class().FromString(data)
    except Exception as error:
        raise LabError("A capture is an XSpace file", f"{len(data)} bytes: {error}") from None
    columns = XSpaceColumns()
    start_ns = _profile_start_ns(space)
    parts: dict[int, list[Events]] = {}
    names = _Names(columns)
    for plane in space.planes:
        device = _DEVICE_PLANE.search(plane.name)
        if device is None:
            _read_host_plane(plane, start_ns, names, parts, columns)
        else:
            columns.device_events[device[1]] = _read_device_plane(plane, start_ns, names, columns)
    columns.by_kind = {kind: _concatenate(found) for kind, found in parts.items()}
    return columns


class _Names:
    """Names seen so far, each once: a node's name with its op."""

    def __init__(self, columns: XSpaceColumns) -> None:
        self._columns = columns
        self._index: dict[tuple[str, str], int] = {}

    def op(self, index: int) -> str:
        return self._columns.ops[index]

    def index(self, name: str, op: str) -> int:
        found = self._index.setdefault((name, op), len(self._columns.names))
        if found == len(self._columns.names):
            self._columns.names.append(name)
            self._columns.ops.append(op)
        return found


def split_op_name(text: str) -> tuple[str, str] | None:
    """`dense/MatMul:MatMul` is the node `dense/MatMul` of op `MatMul`; other names are None."""
    match = _OP_NAME.fullmatch(text)
    return (match["node"], match["op"]) if match else None


def _profile_start_ns(space: Any) -> int:
    for plane in space.planes:
        stats = {entry.key: entry.value.name for entry in plane.stat_metadata}
        for stat in plane.stats:
            if stats.get(stat.metadata_id) == b"profile_start_time":
                return int(stat.uint64_value or stat.int64_value)
    return 0


@dataclass(frozen=True, slots=True)
class _PlaneNames:
    """What the ids of one plane mean: kind and name of events, ids and references of stats."""

    kind: NDArray[np.int8]
    name: Ints
    stat_ids: dict[str, int]
    stat_text: dict[int, str]


def _classify(text: str) -> int:
    if text.startswith(_ASYNC):
        return ISSUED if text.endswith("Start") else DONE
    if _GET_NEXT.match(text) or text == INPUT_EVENT:
        return INPUT
    if _FUNCTION.match(text):
        return CALL
    return STEP if text == STEP_EVENT else DROP


def _read_names(plane: Any, names: _Names) -> _PlaneNames:
    size = max((entry.key for entry in plane.event_metadata), default=0) + 1
    kind, name = np.zeros(size, np.int8), np.zeros(size, np.int64)
    for entry in plane.event_metadata:
        text = entry.value.name.decode("utf-8", "replace")
        node = split_op_name(text)
        kind[entry.key] = OP if node else _classify(text)
        if kind[entry.key] != DROP:
            name[entry.key] = names.index(*(node or (text, "")))
    stats = {e.key: e.value.name.decode("utf-8", "replace") for e in plane.stat_metadata}
    return _PlaneNames(kind, name, {text: key for key, text in stats.items()}, stats)


def _read_host_plane(
    plane: Any,
    profile_start_ns: int,
    names: _Names,
    parts: dict[int, list[Events]],
    columns: XSpaceColumns,
) -> None:
    meaning = _read_names(plane, names)
    for line in plane.lines:
        buffer, positions, ends = _event_bytes(line)
        columns.num_events += len(positions)
        ids, after = wire.read_metadata_ids(buffer, positions)
        kinds = meaning.kind[np.clip(ids, 0, len(meaning.kind) - 1)]
        columns.num_dropped += int(np.count_nonzero(kinds == DROP))
        for kind in range(OP, DONE + 1):
            at = np.flatnonzero(kinds == kind)
            if at.size:
                lines = _Line(buffer, _line_start_ns(line, profile_start_ns), line.id)
                parts.setdefault(kind, []).append(
                    _read_kind(kind, lines, ids[at], after[at], ends[at], meaning, names)
                )


@dataclass(frozen=True, slots=True)
class _Line:
    buffer: wire.Bytes
    start_ns: int
    thread: int


def _read_kind(
    kind: int,
    line: _Line,
    ids: Ints,
    positions: Ints,
    ends: Ints,
    meaning: _PlaneNames,
    names: _Names,
) -> Events:
    offset_ps, duration_ps, stats_at = wire.read_event_times(line.buffer, positions, ends)
    start_ns = line.start_ns + offset_ps // 1000
    end_ns = line.start_ns + (offset_ps + duration_ps) // 1000
    name, key = meaning.name[ids], np.full(len(ids), -1, np.int64)
    stat = {OP: "instance_key", STEP: "step_num", ISSUED: "step_id", DONE: "step_id"}.get(kind)
    if stat in meaning.stat_ids and (kind != OP or _has_collectives(names, name)):
        wanted = meaning.stat_ids[stat]
        found = wire.read_integer_stats(line.buffer, stats_at, ends, (wanted,))
        key = found[wanted]
    if kind in (ISSUED, DONE):
        name = _async_names(line.buffer, stats_at, ends, meaning, names)
    return Events(name, start_ns, end_ns, np.full(len(ids), line.thread, np.int64), key)


def _has_collectives(names: _Names, name: Ints) -> bool:
    return any("Collective" in names.op(index) for index in np.unique(name))


def _async_names(
    buffer: wire.Bytes, stats_at: Ints, ends: Ints, meaning: _PlaneNames, names: _Names
) -> Ints:
    """The node that an executor's asynchronous mark is about."""
    stats = meaning.stat_ids
    wanted = (stats.get("name", -2), stats.get("kernel_type", -2))
    found = wire.read_integer_stats(buffer, stats_at, ends, wanted)
    pairs, inverse = np.unique(
        np.stack([found[wanted[0]], found[wanted[1]]]), axis=1, return_inverse=True
    )
    text = meaning.stat_text
    index = [names.index(text.get(int(n), ""), text.get(int(op), "")) for n, op in pairs.T]
    return np.asarray(index, np.int64)[inverse.ravel()]


def _read_device_plane(
    plane: Any, profile_start_ns: int, names: _Names, columns: XSpaceColumns
) -> Events:
    """Kernels and copies of an accelerator, each under the op that launched it (stat `tf_op`).

    Written after the format's description; not run on hardware.
    """
    meaning = _read_names(plane, names)
    tf_op = meaning.stat_ids.get("tf_op")
    found = []
    for line in plane.lines:
        buffer, positions, ends = _event_bytes(line)
        columns.num_events += len(positions)
        # Derived lines ("TensorFlow Ops", "XLA Modules") repeat what the streams already say.
        if tf_op is None or not positions.size or "Stream" not in line.name:
            columns.num_dropped += len(positions)
            continue
        _ids, after = wire.read_metadata_ids(buffer, positions)
        offset_ps, duration_ps, stats_at = wire.read_event_times(buffer, after, ends)
        references = wire.read_integer_stats(buffer, stats_at, ends, (tf_op,))[tf_op]
        launched = {
            int(r): split_op_name(meaning.stat_text.get(int(r), "")) for r in np.unique(references)
        }
        index = {r: names.index(*(node or ("", ""))) for r, node in launched.items()}
        start = _line_start_ns(line, profile_start_ns)
        found.append(
            Events(
                np.asarray([index[int(r)] for r in references], np.int64),
                start + offset_ps // 1000,
                start + (offset_ps + duration_ps) // 1000,
                np.full(len(offset_ps), line.id, np.int64),
                np.full(len(offset_ps), -1, np.int64),
            )
        )
    return _concatenate(found)


def _line_start_ns(line: Any, profile_start_ns: int) -> int:
    started = int(line.timestamp_ns)
    return started if started > _EPOCH_NS else profile_start_ns + started


def _event_bytes(line: Any) -> tuple[wire.Bytes, Ints, Ints]:
    """The line's events in one buffer, and where each begins and ends."""
    events = list(line.events)
    lengths = np.fromiter(map(len, events), np.int64, len(events))
    ends = np.cumsum(lengths)
    events.append(wire.PADDING)
    return np.frombuffer(b"".join(events), np.uint8), ends - lengths, ends


def _empty() -> Events:
    return Events(*(np.zeros(0, np.int64) for _ in fields(Events)))


def _concatenate(parts: Iterable[Events]) -> Events:
    found = list(parts)
    if not found:
        return _empty()
    return Events(
        *(
            np.concatenate([getattr(part, column.name) for part in found])
            for column in fields(Events)
        )
    )
