"""Decode the events of an XSpace that describe a distributed step into columns.

Observed with TensorFlow 2.21 (CPU): a synchronous op is one event `node name:Op`. An asynchronous
op (`_Recv`) has no interval; the executor records when it is issued
(`ExecutorState::ProcessAsync::Start`) and when it is done (`...::Done`), both with the node's name.
A collective has both of these, and an interval from its launch to its end that includes the wait
for its peers. Inside a function, an iterator's op is asynchronous, too; the time in which it waits
for its batch is `IteratorGetNextOp::DoCompute`. Events that no table needs (thread pool
bookkeeping, memory) are dropped by their metadata id before the rest of them is decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strategy_profiles.capture import event_names, kernel_names, wire
from strategy_profiles.capture.graph import CATEGORY_NAMES, COLLECTIVES
from strategy_profiles.capture.xplane_message import message_class
from strategy_profiles.errors import LabError
from strategy_profiles.tables.columns import Ints

DROP, OP, STEP, INPUT, CALL, ISSUED, DONE, TRACING, STAGE, COMPILING, LAUNCH, _COLLECTIVE = range(
    12
)
"""Kinds of events. Collectives are decoded separately, with their instance key, and stored as `OP`.
"""

_BATCH_BYTES = 32_000_000
"""Lines are decoded in batches of about this size: one batch for a small capture, bounded memory
for a large one."""
_MOST_NAMES = 1 << 24
"""TensorFlow numbers the names of a plane's events from 1. The programs of the plane
`/host:metadata`, which has no events, have 64-bit numbers instead."""
_EPOCH_NS = 10**18
"""Larger line times (after 2001) are since the epoch, smaller ones since the capture's start."""


@dataclass(frozen=True, slots=True)
class Events:
    """One kind of event as columns, times in integer nanoseconds since the epoch."""

    name: Ints
    """Index into `XSpaceColumns.names`."""
    start_ns: Ints
    end_ns: Ints
    thread: Ints
    key: Ints
    """Collectives: instance key; steps: step number; async marks: the executor's step id; stages:
    index into `XSpaceColumns.stages`; launches and what they launched: correlation id."""

    def __len__(self) -> int:
        return len(self.start_ns)

    def take(self, index: Any) -> Events:
        return Events(*(getattr(self, column.name)[index] for column in fields(self)))


@dataclass(frozen=True, slots=True)
class StageSettings:
    """A stage of tf.data as one of its calls reports it; None is not reported."""

    dataset: str | None
    """`ParallelMapDatasetV2:3`, or the name that the program gives it."""
    parallelism: int | None
    buffer_size: int | None
    """Most elements that its buffer may hold."""
    buffered: int | None
    """Elements that its buffer holds."""
    is_autotuned: bool | None


@dataclass(frozen=True, slots=True)
class Executed:
    """What an accelerator ran, by its own clock; parallel columns."""

    events: Events
    """Named after the program's op, which has no name if it is unknown."""
    ran: Ints
    """Index into `XSpaceColumns.names` of the kernel's own name."""
    category: Ints
    """Index into `CATEGORY_NAMES`, by the kernel's name and its op's."""
    edge: Ints
    """Index of the name of the edge whose tensor a copy moves; -1 if it is no copy of an edge."""
    bytes: Ints
    """Of the output of NCCL's kernel, as TensorFlow annotates its launch; -1 without."""

    def __len__(self) -> int:
        return len(self.ran)


@dataclass(slots=True)
class XSpaceColumns:
    """The decoded events of a capture, by kind."""

    names: list[str] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    """Parallel to `names`: the op type, or an empty text if the name is not that of an op."""
    by_kind: dict[int, Events] = field(default_factory=dict)
    device_events: dict[str, Executed] = field(default_factory=dict)
    """What ran, by the accelerator's plane: `GPU:0` is the first card that CUDA lists."""
    stages: list[StageSettings] = field(default_factory=list)
    """What calls of tf.data's stages report, by the key of their events."""
    num_events: int = 0
    num_dropped: int = 0
    from_ns: int = 0
    until_ns: int = 0
    """When the profiler stopped. Both times are 0 if the capture does not contain them."""
    problems: list[str] = field(default_factory=list)
    """What TensorFlow's profiler says that it could not record."""

    def events(self, kind: int) -> Events:
        return self.by_kind.get(kind, _empty())


def decode(data: bytes) -> XSpaceColumns:
    """Return the columns of a serialized XSpace. Raises LabError if `data` is not an XSpace."""
    try:
        space = message_class("XSpace").FromString(data)
    except Exception as error:
        raise LabError(
            f"The capture ({len(data)} bytes) is not an XSpace message: {error}"
        ) from None
    columns = XSpaceColumns()
    start_ns = columns.from_ns = _profile_time_ns(space, event_names.PROFILE_START)
    columns.until_ns = _profile_time_ns(space, event_names.PROFILE_STOP)
    said = [text.decode("utf-8", "replace").strip() for text in (*space.errors, *space.warnings)]
    columns.problems = list(dict.fromkeys(filter(None, said)))
    parts: dict[int, list[Events]] = {}
    names = _Names(columns)
    for plane in space.planes:
        device = event_names.DEVICE_PLANE.search(plane.name)
        if device is None:
            _read_host_plane(plane, start_ns, names, parts, columns)
        else:
            columns.device_events[device[1]] = _read_device_plane(plane, start_ns, names, columns)
    columns.by_kind = {kind: concatenate(own) for kind, own in parts.items()}
    return columns


class _Names:
    """Assigns indices to distinct pairs of node name and op."""

    def __init__(self, columns: XSpaceColumns) -> None:
        self._columns = columns
        self._index: dict[tuple[str, str], int] = {}

    def index(self, name: str, op: str) -> int:
        number = self._index.setdefault((name, op), len(self._columns.names))
        if number == len(self._columns.names):
            self._columns.names.append(name)
            self._columns.ops.append(op)
        return number


def _profile_time_ns(space: Any, name: bytes) -> int:
    for plane in space.planes:
        stats = {entry.key: entry.value.name for entry in plane.stat_metadata}
        for stat in plane.stats:
            if stats.get(stat.metadata_id) == name:
                return int(stat.uint64_value or stat.int64_value)
    return 0


@dataclass(frozen=True, slots=True)
class _PlaneNames:
    """The metadata of one plane: kind and name of events by id, ids and texts of stats."""

    kind: NDArray[np.int8]
    name: Ints
    stat_ids: dict[str, int]
    stat_text: dict[int, str]


def _classify_op(op: str) -> int:
    return _COLLECTIVE if op in COLLECTIVES else OP


def _classify(text: str) -> int:
    if text.startswith(event_names.ASYNC):
        return ISSUED if text.endswith("Start") else DONE
    if event_names.GET_NEXT.match(text) or text == event_names.INPUT:
        return INPUT
    if event_names.CALL.match(text):
        return CALL
    if text.startswith(event_names.STAGE):
        return STAGE
    if event_names.COMPILING.match(text):
        return COMPILING
    return {event_names.TRACING: TRACING, event_names.STEP: STEP}.get(text, DROP)


def _read_names(plane: Any, names: _Names) -> _PlaneNames:
    known = [entry for entry in plane.event_metadata if 0 <= entry.key < _MOST_NAMES]
    size = max((entry.key for entry in known), default=0) + 1
    kind, name = np.zeros(size, np.int8), np.full(size, -1, np.int64)
    for entry in known:
        text = entry.value.name.decode("utf-8", "replace")
        node = event_names.split_op_name(text)
        kind[entry.key] = _classify_op(node[1]) if node else _classify(text)
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
    """Add the events of a host's plane to `parts`, by kind; count them, also those left out, and
    note the settings of input stages, in `columns`."""
    plane_names = _read_names(plane, names)
    correlation = plane_names.stat_ids.get(event_names.CORRELATION)
    for batch in _batches(plane.lines, profile_start_ns):
        ids, after = wire.read_metadata_ids(batch.buffer, batch.positions)
        ids = np.where((ids >= 0) & (ids < len(plane_names.kind)), ids, 0)
        kinds = plane_names.kind[ids]
        if correlation is not None:
            kinds = np.where((kinds == DROP) & _have(correlation, batch, after), LAUNCH, kinds)
        columns.num_events += len(kinds)
        columns.num_dropped += int(np.count_nonzero(kinds == DROP))
        for kind in range(OP, _COLLECTIVE + 1):
            at = np.flatnonzero(kinds == kind)
            if at.size:
                own = batch.take(at)
                events = _read_kind(kind, own, ids[at], after[at], plane_names, names)
                if kind == STAGE:
                    key = _stage_settings(own, after[at], plane_names, columns.stages)
                    events = replace(events, key=key)
                parts.setdefault(OP if kind == _COLLECTIVE else kind, []).append(events)


def _have(stat: int, batch: _Batch, after: Ints) -> NDArray[np.bool_]:
    """Return which events have an integer stat. A launch has no other mark: CUPTI names it after
    the kernel, and ROCm after the call."""
    stats_at = wire.read_event_times(batch.buffer, after, batch.ends)[2]
    stats = wire.read_integer_stats(batch.buffer, stats_at, batch.ends, (stat,))
    return np.asarray(stats[stat] > 0, bool)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Events of some lines in one buffer, with start time and thread of each event's line."""

    buffer: wire.Bytes
    positions: Ints
    ends: Ints
    line_start_ns: Ints
    thread: Ints

    def take(self, index: Any) -> _Batch:
        columns = (self.positions, self.ends, self.line_start_ns, self.thread)
        return _Batch(self.buffer, *(column[index] for column in columns))


def _batches(lines: Iterable[Any], profile_start_ns: int) -> Iterator[_Batch]:
    held: list[bytes] = []
    counts: list[tuple[int, int, int]] = []
    size = 0
    for line in lines:
        events = list(line.events)
        held += events
        counts.append((len(events), _line_start_ns(line, profile_start_ns), int(line.id)))
        size += sum(map(len, events))
        if size > _BATCH_BYTES:
            yield _batch(held, counts)
            held, counts, size = [], [], 0
    if held:
        yield _batch(held, counts)


def _batch(events: list[bytes], counts: list[tuple[int, int, int]]) -> _Batch:
    lengths = np.fromiter(map(len, events), np.int64, len(events))
    ends = np.cumsum(lengths)
    buffer = np.frombuffer(b"".join([*events, wire.PADDING]), np.uint8)
    num, start_ns, thread = np.asarray(counts, np.int64).T
    return _Batch(buffer, ends - lengths, ends, np.repeat(start_ns, num), np.repeat(thread, num))


_KEYS = {
    _COLLECTIVE: event_names.INSTANCE_KEY,
    STEP: event_names.STEP_NUMBER,
    ISSUED: event_names.STEP_ID,
    DONE: event_names.STEP_ID,
    LAUNCH: event_names.CORRELATION,
}


def _read_kind(
    kind: int, batch: _Batch, ids: Ints, after: Ints, plane_names: _PlaneNames, names: _Names
) -> Events:
    """Read the events of one kind in a batch.

    Args:
      ids: of each event, the number of its name in the plane.
      after: of each event, where in the buffer its id ends.
    """
    offset_ps, duration_ps, stats_at = wire.read_event_times(batch.buffer, after, batch.ends)
    name, key = plane_names.name[ids], np.full(len(ids), -1, np.int64)
    stat = plane_names.stat_ids.get(_KEYS.get(kind, ""))
    if stat is not None:
        stats = wire.read_integer_stats(batch.buffer, stats_at, batch.ends, (stat,))
        key = stats[stat]
    if kind in (ISSUED, DONE):
        name = _async_names(batch.buffer, stats_at, batch.ends, plane_names, names)
    return Events(
        name,
        batch.line_start_ns + offset_ps // 1000,
        batch.line_start_ns + (offset_ps + duration_ps) // 1000,
        batch.thread,
        key,
    )


def _stage_settings(
    batch: _Batch, after: Ints, plane_names: _PlaneNames, known: list[StageSettings]
) -> Ints:
    """Add the distinct settings of stages to `known` and return the index of each event's."""
    stats_at = wire.read_event_times(batch.buffer, after, batch.ends)[2]
    numbers = (event_names.STAGE_PARALLELISM, event_names.STAGE_BUFFERED, *event_names.STAGE_BUFFER)
    words = (event_names.STAGE_NAME, event_names.STAGE_AUTOTUNE)
    columns = []
    for stats, types in ((numbers, wire.STAT_NUMBERS), (words, wire.STAT_REFERENCES)):
        ids = tuple(plane_names.stat_ids.get(stat, -2 - at) for at, stat in enumerate(stats))
        values = wire.read_integer_stats(batch.buffer, stats_at, batch.ends, ids, types)
        columns += [values[each] for each in ids]
    distinct, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    first = len(known)
    for row in distinct.tolist():
        parallelism, buffered, *limits, name, autotune = row
        known.append(
            StageSettings(
                plane_names.stat_text.get(name),
                parallelism if parallelism >= 0 else None,
                max(limits) if max(limits) >= 0 else None,
                buffered if buffered >= 0 else None,
                plane_names.stat_text[autotune] == "true"
                if autotune in plane_names.stat_text
                else None,
            )
        )
    return first + inverse.reshape(-1).astype(np.int64)


def _async_names(
    buffer: wire.Bytes, stats_at: Ints, ends: Ints, plane_names: _PlaneNames, names: _Names
) -> Ints:
    """Return the name index of the node of each asynchronous start or done event."""
    stats = plane_names.stat_ids
    wanted = (stats.get(event_names.NODE, -2), stats.get(event_names.KERNEL, -2))
    codes = wire.read_integer_stats(buffer, stats_at, ends, wanted)
    node, op = codes[wanted[0]], codes[wanted[1]]
    width = int(op.max()) + 2
    pairs, inverse = np.unique((node + 1) * width + op + 1, return_inverse=True)
    text = plane_names.stat_text
    index = [
        names.index(text.get(pair // width - 1, ""), text.get(pair % width - 1, ""))
        for pair in pairs.tolist()
    ]
    return np.asarray(index, np.int64)[inverse]


def _read_device_plane(
    plane: Any, profile_start_ns: int, names: _Names, columns: XSpaceColumns
) -> Executed:
    """Read what an accelerator ran.

    Follows TensorFlow's collector; not tested on hardware.
    """
    plane_names = _read_names(plane, names)
    lines = [line for line in plane.lines if event_names.STREAM in line.name]
    lines = lines or [line for line in plane.lines if line.name in event_names.XLA_OPS]
    # Derived lines ("TensorFlow Ops", "XLA Modules") repeat the events of the streams.
    derived = sum(map(_num_events, plane.lines)) - sum(map(_num_events, lines))
    columns.num_events += derived
    columns.num_dropped += derived
    kinds = {e.key: e.value.name.decode("utf-8", "replace") for e in plane.event_metadata}
    parts = []
    for batch in _batches(lines, profile_start_ns):
        columns.num_events += len(batch.positions)
        parts.append(_executed(batch, kinds, plane_names, names))
    if not parts:
        none = np.zeros(0, np.int64)
        return Executed(_empty(), none, none, none, none)
    columns_of = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts])
        for each in fields(Executed)
        if each.name != "events"
    }
    return Executed(events=concatenate(part.events for part in parts), **columns_of)


def _num_events(line: Any) -> int:
    return len(line.events)


_OF_KERNELS = (
    event_names.TF_OP,
    event_names.EDGE,
    event_names.CORRELATION,
    event_names.BUFFER_SIZE,
)


def _executed(
    batch: _Batch, kinds: dict[int, str], plane_names: _PlaneNames, names: _Names
) -> Executed:
    """Read a batch of what an accelerator ran; what one kind, op and edge are is found once."""
    ids, after = wire.read_metadata_ids(batch.buffer, batch.positions)
    offset_ps, duration_ps, stats_at = wire.read_event_times(batch.buffer, after, batch.ends)
    wanted = tuple(plane_names.stat_ids.get(stat, -2 - at) for at, stat in enumerate(_OF_KERNELS))
    stats = wire.read_integer_stats(batch.buffer, stats_at, batch.ends, wanted)
    tf_op, edge, correlation, num_bytes = (stats[each] for each in wanted)
    keys = np.stack([ids, tf_op, edge], axis=1)
    distinct, inverse = np.unique(keys, axis=0, return_inverse=True)
    text = plane_names.stat_text
    means = [
        _meaning(kinds.get(kind, ""), text.get(op, ""), text.get(tensor, ""), names)
        for kind, op, tensor in distinct.tolist()
    ]
    name, ran, category, edge_name = np.asarray(means, np.int64).T[:, inverse.reshape(-1)]
    start_ns = batch.line_start_ns + offset_ps // 1000
    end_ns = batch.line_start_ns + (offset_ps + duration_ps) // 1000
    events = Events(name, start_ns, end_ns, batch.thread, correlation)
    return Executed(events, ran, category, edge_name, num_bytes)


def _meaning(kernel: str, tf_op: str, edge: str, names: _Names) -> tuple[int, int, int, int]:
    """Return op, kernel, category and edge of events, in the order of `Executed`."""
    node = event_names.split_op_name(tf_op)
    category = kernel_names.executed_category(kernel, tf_op if node else "")
    if category == "collective" and not kernel_names.is_waiting_collective(kernel):
        # A part of a collective whose op on the host lasts from its launch to its end.
        category = "transfer"
    return (
        names.index(*(node or ("", ""))),
        names.index(kernel, kernel),
        CATEGORY_NAMES.index(category),
        names.index(edge, "") if edge else -1,
    )


def _line_start_ns(line: Any, profile_start_ns: int) -> int:
    started = int(line.timestamp_ns)
    return started if started > _EPOCH_NS else profile_start_ns + started


def _empty() -> Events:
    return Events(*(np.zeros(0, np.int64) for _ in fields(Events)))


def concatenate(parts: Iterable[Events]) -> Events:
    """Concatenate the events of several captures, or of parts of one."""
    present = list(parts)
    if not present:
        return _empty()
    return Events(
        *(
            np.concatenate([getattr(part, column.name) for part in present])
            for column in fields(Events)
        )
    )
