"""What the placement of a segment says of its variables and of sparse gradients."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.graph_file import graph_file
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.capture.graph import read_graph_rows
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.reporting import units
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.op_scopes import replica_in
from strategy_profiles.run.tensorflow_names import ARGUMENT, READ_VARIABLE
from strategy_profiles.tables.columns import Bools, floats, ints, is_one_of, of_segment, texts
from strategy_profiles.tables.store import Profile, once

LARGE_BYTES = 65_536
"""Smaller variables (counters, seeds, scalars) cost nothing wherever they are."""
_OF_TRANSFERS = (
    "segment", "step", "tensor", "bytes", "send_device", "recv_device", "start_ns", "duration_ms",
)  # fmt: skip
SCATTER_INTO_DENSE = ("UnsortedSegmentSum",)
"""The op by which TensorFlow turns `IndexedSlices` into a dense tensor."""
MANY_ROWS = 0.5
"""Of the variable: a sparse gradient with as many rows, some of them more than once, is no smaller
than the variable to speak of."""
NOT_BY_ELEMENT = (
    *("ReadVariableOp", "_Arg", "Identity", "Const"),
    *("MatMul", "BatchMatMul", "Conv", "Einsum"),
)
"""Beginnings of ops that take no time, or whose work a sparse gradient would not save."""


class PlacedVariable(Struct, frozen=True):
    """A variable on a device."""

    name: str
    device: str
    bytes: float
    read_at: str | None = None
    """Line that reads it, if its name is that of the op that does."""

    def __str__(self) -> str:
        return f"`{self.name}` ({units.size(self.bytes)})"


class CopiedVariables(Struct, frozen=True):
    """Large variables that replicas copy from another device; empty if there are none."""

    variables: tuple[PlacedVariable, ...] = ()
    """The largest first."""
    ms_of: Mapping[int, float] = {}
    """By replica, the mean time per captured step in which it is sent them; empty if no copy was
    captured."""

    @property
    def longest_ms(self) -> float | None:
        """Of the replica that is sent them for the longest time; None if no copy was captured."""
        return max(self.ms_of.values(), default=None)


class DenseGradient(Struct, frozen=True):
    """A sparse gradient that an op makes as large as the variable that it is of."""

    op: str
    device: str
    bytes: float
    ms: float | None
    """Mean length of the op in captured steps; None if none was captured."""
    share_of_variables: float = 0.0
    """Of the bytes of the device's large variables, the share of those of this size: the variable,
    and what the optimizer keeps for it."""
    others_ms: float = 0.0
    """Mean time per captured step of the other ops that compute a tensor of this size on the
    device, element by element, such as those of a penalty on the variable."""


class Placed(Struct, frozen=True):
    """Empty tuples also if no placement was recorded."""

    off_device: CopiedVariables = CopiedVariables()
    """On a device that no replica has."""
    lent: CopiedVariables = CopiedVariables()
    """On the device of one replica, and read by another one. Each has the name of the op that reads
    it: the program may have made it outside of the strategy, which then does not know it."""
    taken: CopiedVariables = CopiedVariables()
    """Tensors that the step takes from outside, as an argument or because its function captures
    them, on the device of one replica, and copied to that of another one."""
    dense_gradients: tuple[DenseGradient, ...] = ()
    """The largest first."""
    largest: PlacedVariable | None = None
    """The largest variable that is named after its layer. Of several, it is the one with the
    shortest name: an optimizer names what it keeps for a variable after it."""
    largest_argument: PlacedVariable | None = None
    """The largest tensor that the step takes from outside, not as a variable."""
    num_variables: int = 0
    """Of any size, on all devices; 0 if none is known."""
    variable_bytes: float = 0.0
    """Of all variables of the device that has most bytes of them; 0 if none is known."""

    @property
    def said_of_largest(self) -> str:
        """` The largest variable is `table` (15.0 MB).`, or nothing."""
        return f" The largest variable is {self.largest}." if self.largest else ""


@once
def placed(profile: Profile, segment: SegmentOpened) -> Placed:
    """Return what a segment's placement says; once per profile."""
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
    read_at = _lines_that_read(rows, is_large) if off_device else {}
    off_device = [
        each if _is_named(each) else replace(each, read_at=read_at.get((each.device, each.bytes)))
        for each in off_device
    ]
    arguments = _arguments(rows, is_large)
    taken = _variables(rows.filter(pa.array(is_large & _is_in(rows, "op", (ARGUMENT,)))))
    return Placed(
        off_device=_off_device(profile, segment, off_device),
        lent=_between_replicas(profile, segment, _names(rows, is_large, READ_VARIABLE)),
        taken=_between_replicas(profile, segment, arguments),
        dense_gradients=_dense(
            profile,
            segment.segment,
            rows.filter(pa.array(is_large & _is_in(rows, "kind", ("op",)))),
            variables,
        ),
        largest=min(
            filter(_is_named, variables),
            key=lambda each: (-each.bytes, len(each.name)),
            default=None,
        ),
        largest_argument=max(
            (each for each in taken if each.name in arguments),
            key=lambda each: each.bytes,
            default=None,
        ),
        num_variables=int(np.count_nonzero(is_variable)),
        variable_bytes=_most_on_a_device(rows.filter(pa.array(is_variable))),
    )


def _most_on_a_device(variables: pa.Table) -> float:
    sizes = np.nan_to_num(floats(variables, "bytes"))
    devices = np.unique(np.array(texts(variables, "device")), return_inverse=True)[1]
    return float(np.bincount(devices, sizes).max(initial=0.0))


def _is_named(variable: PlacedVariable) -> bool:
    """Whether it is named after its layer: else its name may be that of the op that reads it."""
    return "/" in variable.name


def _lines_that_read(rows: pa.Table, is_large: Bools) -> dict[tuple[str | None, float], str]:
    """`train.py:42`, by the device and size of the variable that is read there."""
    reads = rows.filter(pa.array(is_large & _is_in(rows, "op", (READ_VARIABLE,))))
    places = zip(
        texts(reads, "device"),
        floats(reads, "bytes").tolist(),
        texts(reads, "source_line"),
        strict=True,
    )
    return {(device, size): line.rpartition("/")[2] for device, size, line in places if line}


def _is_in(rows: pa.Table, name: str, wanted: Sequence[str]) -> Bools:
    """Which values of a text column are in `wanted`."""
    is_in: Bools = pc.is_in(rows[name], pa.array(wanted)).to_numpy()
    return is_in


def _variables(rows: pa.Table) -> list[PlacedVariable]:
    columns = texts(rows, "name"), texts(rows, "device"), floats(rows, "bytes").tolist()
    return [
        PlacedVariable(name or "", device, size)
        for name, device, size in zip(*columns, strict=True)
        if device
    ]


def _off_device(
    profile: Profile, segment: SegmentOpened, variables: Sequence[PlacedVariable]
) -> CopiedVariables:
    """A copy of a variable is a transfer of its size from its device: transfers have the names of
    ops, not of variables."""
    if not variables:
        return CopiedVariables()
    rows = of_segment(profile.columns("transfers", _OF_TRANSFERS), segment.segment)
    of_variable = {(each.device, each.bytes) for each in variables}
    sent = zip(texts(rows, "send_device"), floats(rows, "bytes").tolist(), strict=True)
    is_copy = np.fromiter((each in of_variable for each in sent), np.bool_, rows.num_rows)
    return CopiedVariables(tuple(variables), _ms_of(profile, segment, rows, is_copy))


def _names(rows: pa.Table, counts: Bools, op: str) -> set[str | None]:
    return set(texts(rows.filter(pa.array(counts & _is_in(rows, "op", (op,)))), "name"))


def _arguments(rows: pa.Table, is_large: Bools) -> set[str | None]:
    """Tensors that the step takes; the bytes of a resource are those of a variable."""
    names = _names(rows, is_large, ARGUMENT)
    return {name for name in names if name and not name.endswith("_resource")}


def _between_replicas(
    profile: Profile, segment: SegmentOpened, tensors: set[str | None]
) -> CopiedVariables:
    """Which of these tensors are copied from the device of one replica to that of another."""
    if not tensors or segment.num_replicas < 2:
        return CopiedVariables()
    replica_of = {device: number for number, device in enumerate(segment.replica_devices)}
    for number, cores in enumerate(segment.core_devices or ()):
        replica_of |= dict.fromkeys(cores, number)
    rows = of_segment(profile.columns("transfers", _OF_TRANSFERS), segment.segment)
    rows = rows.filter(pa.array(floats(rows, "bytes") >= LARGE_BYTES))  # most are small
    variables: set[PlacedVariable] = set()
    is_copy = np.zeros(rows.num_rows, bool)
    columns = (texts(rows, name) for name in ("tensor", "send_device", "recv_device"))
    sizes = floats(rows, "bytes").tolist()
    for at, (tensor, sender, receiver, size) in enumerate(zip(*columns, sizes, strict=True)):
        owner, reader = replica_of.get(sender or ""), replica_of.get(receiver or "")
        # What the owner itself reads is its own copy, whatever else the value is sent for.
        is_own = owner is not None and replica_in(tensor or "") == owner
        if tensor in tensors and None not in (owner, reader) and not is_own:
            is_copy[at] = owner != reader
            if is_copy[at]:
                variables.add(PlacedVariable(tensor or "", sender or "", size))
    ordered = sorted(variables, key=lambda each: (-each.bytes, each.name))
    return CopiedVariables(tuple(ordered), _ms_of(profile, segment, rows, is_copy))


def _ms_of(
    profile: Profile, segment: SegmentOpened, rows: pa.Table, is_copy: Bools
) -> dict[int, float]:
    """By replica, the mean time per settled captured step of the transfers to its device."""
    steps = step_times(profile, segment.segment)
    starts, lengths = ints(rows, "start_ns"), floats(rows, "duration_ms")
    copies = is_copy & np.isin(ints(rows, "step"), steps.step[steps.settled]) & (lengths >= 0)
    if not copies.any():
        return {}
    num_steps = len(set(ints(rows, "step")[copies].tolist()))
    ends = starts + (np.nan_to_num(lengths) * 1e6).astype(np.int64)
    ms_of = {}
    for replica, device in enumerate(segment.replica_devices):
        there = copies & is_one_of(rows, "recv_device", (device,))
        copied = Intervals.union((starts[there], ends[there]))
        ms_of[replica] = float((copied.ends - copied.starts).sum()) / 1e6 / num_steps
    return ms_of


def _dense(
    profile: Profile, segment: int, rows: pa.Table, variables: Sequence[PlacedVariable]
) -> tuple[DenseGradient, ...]:
    """Only an output of exactly a variable's size on its device: other sums are the program's. And
    only of a gradient with fewer than `MANY_ROWS`: else nothing is gained by keeping it sparse."""
    sizes, on_device = Counter[tuple[str, float]](), Counter[str]()
    for each in variables:
        sizes[each.device, each.bytes] += int(each.bytes)
        on_device[each.device] += int(each.bytes)
    names, devices, ops = (texts(rows, column) for column in ("name", "device", "op"))
    columns = names, devices, ops, floats(rows, "bytes").tolist()
    as_large = [
        ((name or "", device or "", size), op or "")
        for name, device, op, size in zip(*columns, strict=True)
        if (device or "", size) in sizes
    ]
    gradients = [each for each, op in as_large if op in SCATTER_INTO_DENSE]
    if not gradients:
        return ()
    num_bytes = _bytes_of_rows(profile, segment, {name for name, *_ in gradients})
    gradients = [each for each in gradients if num_bytes.get(each[0], 0) < MANY_ROWS * each[2]]
    lengths = _lengths_ms(profile, segment, {name for (name, *_), _ in as_large})
    others_ms = defaultdict[tuple[str, float], float](float)
    for (name, device, size), op in as_large:
        if op not in SCATTER_INTO_DENSE and not op.startswith(NOT_BY_ELEMENT):
            others_ms[device, size] += lengths.get((name, device), 0.0)
    every = [
        DenseGradient(
            *each,
            lengths.get(each[:2]),
            sizes[each[1:]] / on_device[each[1]],
            others_ms.get(each[1:], 0.0),
        )
        for each in gradients
    ]
    return tuple(sorted(every, key=lambda each: (-each.bytes, each.device, each.op)))


def _bytes_of_rows(profile: Profile, segment: int, names: set[str]) -> dict[str, float]:
    """Size of the rows that each of these ops adds up, where the graph has their shape."""
    path = graph_file(profile, segment)
    nodes = [] if path is None else read_graph_rows(path).to_pylist()
    size_of = {node["name"]: node["bytes"] for node in nodes}
    first = {node["name"]: (node["inputs"] or [""])[0] for node in nodes if node["name"] in names}
    return {name: size for name, rows in first.items() if (size := size_of.get(rows))}


def _lengths_ms(profile: Profile, segment: int, names: set[str]) -> dict[tuple[str, str], float]:
    """Mean time per settled captured step of each of these ops, by name and device."""
    wanted = ("segment", "step", "name", "device", "duration_ns")
    rows = of_segment(profile.columns("spans", wanted), segment)
    rows = rows.filter(pa.array(is_one_of(rows, "name", tuple(names))))
    steps = step_times(profile, segment)
    step = ints(rows, "step")
    counts = np.isin(step, steps.step[steps.settled])
    num_steps = len(set(step[counts].tolist()))
    lengths: dict[tuple[str, str], float] = {}
    columns = texts(rows, "name"), texts(rows, "device"), ints(rows, "duration_ns").tolist()
    for name, device, length, is_counted in zip(*columns, counts.tolist(), strict=True):
        if is_counted:
            key = (name or "", device or "")
            lengths[key] = lengths.get(key, 0.0) + length / 1e6 / num_steps
    return lengths
