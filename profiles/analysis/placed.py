"""What the placement of a segment says of its variables and of sparse gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from strategy_lab.profiles.analysis.steps import step_times
from strategy_lab.profiles.capture.intervals import Intervals
from strategy_lab.profiles.run.tensorflow_names import READ_VARIABLE
from strategy_lab.profiles.tables.columns import Bools, floats, ints, is_one_of, of_segment, texts

if TYPE_CHECKING:
    from strategy_lab.profiles.run.events import SegmentOpened
    from strategy_lab.profiles.tables.store import Profile

LARGE_BYTES = 65_536
"""Smaller variables (counters, seeds, scalars) cost nothing wherever they are."""
_OF_TRANSFERS = (
    "segment", "step", "tensor", "bytes", "send_device", "recv_device", "start_ns", "duration_ms",
)  # fmt: skip
SCATTER_INTO_DENSE = ("UnsortedSegmentSum",)
"""The op by which TensorFlow turns `IndexedSlices` into a dense tensor."""


@dataclass(frozen=True, slots=True)
class PlacedVariable:
    """A variable on a device."""

    name: str
    device: str
    bytes: float


@dataclass(frozen=True, slots=True)
class DenseGradient:
    """A sparse gradient that an op makes as large as the variable that it is of."""

    op: str
    device: str
    bytes: float
    ms: float | None
    """Mean length of the op in captured steps; None if none was captured."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Empty tuples also if no placement was recorded."""

    off_device: tuple[PlacedVariable, ...] = ()
    """Large variables on a device that no replica has, the largest first."""
    dense_gradients: tuple[DenseGradient, ...] = ()
    """The largest first."""
    copied_ms: float | None = None
    """Mean time of a captured step in which the replica that waits longest is sent the variables
    of `off_device`; None if no such copy was captured."""
    lent: tuple[PlacedVariable, ...] = ()
    """Large variables that a replica reads from the device of another one, the largest first. Each
    has the name of the op that reads it: the program may have made it outside of the strategy,
    which then does not know it."""
    lent_ms: float | None = None
    """The same as `copied_ms`, for `lent`."""


def placed(profile: Profile, segment: SegmentOpened) -> Placed:
    """Return what a segment's placement says; once per profile."""
    return profile.once(("placed", segment.segment), lambda: _placed(profile, segment))


def _placed(profile: Profile, segment: SegmentOpened) -> Placed:
    rows = of_segment(profile.table("placement"), segment.segment)
    is_large = floats(rows, "bytes") >= LARGE_BYTES
    is_variable = _is_in(rows, "kind", ("variable",))
    variables = _variables(rows.filter(pa.array(is_large & is_variable)))
    own = {*segment.replica_devices, *(d for cores in segment.core_devices or () for d in cores)}
    away = {(each.device, each.bytes, each.name): each for each in variables}
    off_device = sorted(
        (each for each in away.values() if own and each.device not in own),
        key=lambda each: (-each.bytes, each.name),
    )
    lent, lent_ms = _lent(profile, segment, rows.filter(pa.array(is_large)))
    return Placed(
        lent=lent,
        lent_ms=lent_ms,
        off_device=tuple(off_device),
        copied_ms=_copied_ms(profile, segment, off_device) if off_device else None,
        dense_gradients=_dense(
            profile,
            segment.segment,
            rows.filter(pa.array(is_large & _is_in(rows, "op", SCATTER_INTO_DENSE))),
            {(each.device, each.bytes) for each in variables},
        ),
    )


def _is_in(rows: pa.Table, name: str, wanted: Sequence[str]) -> Bools:
    """Which values of a text column are in `wanted`."""
    found: Bools = pc.is_in(rows[name], pa.array(wanted)).to_numpy()
    return found


def _variables(rows: pa.Table) -> list[PlacedVariable]:
    columns = texts(rows, "name"), texts(rows, "device"), floats(rows, "bytes").tolist()
    return [
        PlacedVariable(name or "", device, size)
        for name, device, size in zip(*columns, strict=True)
        if device
    ]


def _copied_ms(
    profile: Profile, segment: SegmentOpened, off_device: Sequence[PlacedVariable]
) -> float | None:
    """A copy of a variable is a transfer of its size from its device: transfers have the names of
    ops, not of variables."""
    rows = of_segment(profile.columns("transfers", _OF_TRANSFERS), segment.segment)
    of_variable = {(each.device, each.bytes) for each in off_device}
    sent = zip(texts(rows, "send_device"), floats(rows, "bytes").tolist(), strict=True)
    is_copy = np.fromiter((each in of_variable for each in sent), np.bool_, rows.num_rows)
    return _longest_ms(profile, segment, rows, is_copy)


def _lent(
    profile: Profile, segment: SegmentOpened, large: pa.Table
) -> tuple[tuple[PlacedVariable, ...], float | None]:
    """What replicas read from each other's devices. `large` are large outputs of ops."""
    reads = set(texts(large.filter(pa.array(_is_in(large, "op", (READ_VARIABLE,)))), "name"))
    if not reads or segment.num_replicas < 2:
        return (), None
    replica_of = {device: number for number, device in enumerate(segment.replica_devices)}
    for number, cores in enumerate(segment.core_devices or ()):
        replica_of |= dict.fromkeys(cores, number)
    rows = of_segment(profile.columns("transfers", _OF_TRANSFERS), segment.segment)
    rows = rows.filter(pa.array(floats(rows, "bytes") >= LARGE_BYTES))  # most are small
    found: set[PlacedVariable] = set()
    is_copy = np.zeros(rows.num_rows, bool)
    columns = (texts(rows, name) for name in ("tensor", "send_device", "recv_device"))
    sizes = floats(rows, "bytes").tolist()
    for at, (tensor, sender, receiver, size) in enumerate(zip(*columns, sizes, strict=True)):
        owner, reader = replica_of.get(sender or ""), replica_of.get(receiver or "")
        if tensor in reads and None not in (owner, reader):
            is_copy[at] = owner != reader
            if is_copy[at]:
                found.add(PlacedVariable(tensor or "", sender or "", size))
    if not found:
        return (), None
    ordered = sorted(found, key=lambda each: (-each.bytes, each.name))
    return tuple(ordered), _longest_ms(profile, segment, rows, is_copy)


def _longest_ms(
    profile: Profile, segment: SegmentOpened, rows: pa.Table, is_copy: Bools
) -> float | None:
    """Mean time per settled captured step of these transfers, for the replica with the most."""
    steps = step_times(profile, segment.segment)
    starts, lengths = ints(rows, "start_ns"), floats(rows, "duration_ms")
    copies = is_copy & np.isin(ints(rows, "step"), steps.step[steps.settled]) & (lengths >= 0)
    if not copies.any():
        return None
    num_steps = len(set(ints(rows, "step")[copies].tolist()))
    ends = starts + (np.nan_to_num(lengths) * 1e6).astype(np.int64)
    per_device = []
    for device in segment.replica_devices:
        there = copies & is_one_of(rows, "recv_device", (device,))
        copied = Intervals.union((starts[there], ends[there]))
        per_device.append(float((copied.ends - copied.starts).sum()) / 1e6 / num_steps)
    return max(per_device, default=None)


def _dense(
    profile: Profile, segment: int, rows: pa.Table, sizes: set[tuple[str, float]]
) -> tuple[DenseGradient, ...]:
    """Only an output of exactly a variable's size on its device: other sums are the program's."""
    columns = texts(rows, "name"), texts(rows, "device"), floats(rows, "bytes").tolist()
    found = [
        (name or "", device or "", size)
        for name, device, size in zip(*columns, strict=True)
        if (device or "", size) in sizes
    ]
    lengths = _lengths_ms(profile, segment) if found else {}
    every = [DenseGradient(*each, lengths.get(each[:2])) for each in found]
    return tuple(sorted(every, key=lambda each: (-each.bytes, each.device, each.op)))


def _lengths_ms(profile: Profile, segment: int) -> dict[tuple[str, str], float]:
    """Mean time per settled captured step of each of these ops, by name and device."""
    wanted = ("segment", "step", "op", "name", "device", "duration_ns")
    rows = of_segment(profile.columns("spans", wanted), segment)
    rows = rows.filter(pa.array(is_one_of(rows, "op", SCATTER_INTO_DENSE)))
    steps = step_times(profile, segment)
    step = ints(rows, "step")
    counts = np.isin(step, steps.step[steps.settled])
    num_steps = len(set(step[counts].tolist()))
    found: dict[tuple[str, str], float] = {}
    columns = texts(rows, "name"), texts(rows, "device"), ints(rows, "duration_ns").tolist()
    for name, device, length, is_counted in zip(*columns, counts.tolist(), strict=True):
        if is_counted:
            key = (name or "", device or "")
            found[key] = found.get(key, 0.0) + length / 1e6 / num_steps
    return found
