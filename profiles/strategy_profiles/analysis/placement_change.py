"""What did a live reconfiguration move? Two segments' placements: variables and ops by name.

A model that is built again gets its names counted on (`dense_1` becomes `dense_3`), so variables
are matched by their name without the counters, in order. So are ops, by name and type. The
optimizer of graphs adds and removes ops: if a name without counters does not have equally many
ops in both segments, none of them is matched, because a pair of them would be a guess.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any, Literal

import pyarrow as pa
from msgspec import Struct

from strategy_profiles.analysis.placement import UNPLACED
from strategy_profiles.reporting.natural_order import natural
from strategy_profiles.tables.columns import ints, of_segment, texts
from strategy_profiles.tables.store import Profile

How = Literal["moved", "fewer copies", "more copies", "added", "gone"]
Places = dict[tuple[str, int], tuple[str, tuple[str, ...]]]
Op = tuple[str, str | None, str]
"""Name, type and device."""
_COUNTER = re.compile(r"_\d+(?=_|/|$)")
_OP_COUNTER = re.compile(r"(?<!replica)(?<!update)_\d+(?=_|/|$)")
"""The same, but `replica_2` and `update_2` are the numbers of a replica and of a device."""


class VariableMove(Struct, frozen=True):
    """A variable that changed devices. A segment without the variable has no devices here."""

    name: str
    """Name in the later segment if it is there, otherwise in the earlier one."""
    how: How
    before: tuple[str, ...]
    after: tuple[str, ...]


class OpMove(Struct, frozen=True):
    """An op that changed its device."""

    name: str
    """Name in the later segment."""
    type: str | None
    before: str
    after: str


class DeviceOps(Struct, frozen=True):
    """How many ops a device ran before and runs after."""

    device: str
    before: int
    after: int


class PlacementChange(Struct, frozen=True):
    """`num_same` variables, and `num_same_ops` ops, stayed on the same devices."""

    before: int
    after: int
    num_same: int
    variables: tuple[VariableMove, ...]
    ops: tuple[DeviceOps, ...]
    moved_ops: tuple[OpMove, ...] = ()
    num_same_ops: int = 0
    num_unmatched: tuple[int, int] = (0, 0)
    """Ops of the earlier and of the later segment that have no counterpart in the other one."""
    reason: str | None = None
    """Why there is no answer."""


def placement_change(profile: Profile, before: int, after: int) -> PlacementChange:
    """Compare the placements of two segments of a run."""
    rows = [of_segment(profile.table("placement"), number) for number in (before, after)]
    for number, table in zip((before, after), rows, strict=True):
        if not table.num_rows:
            reason = f"segment {number} recorded no placement"
            return PlacementChange(before, after, 0, (), (), reason=reason)
    old, new = (_places(table) for table in rows)
    moves = [_move(old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())]
    counts = [_op_counts(table) for table in rows]
    pairs, num_unmatched = _matched(*(_ops_by_name(table) for table in rows))
    moved = [OpMove(new[0], new[1], old[2], new[2]) for old, new in pairs if old[2] != new[2]]
    return PlacementChange(
        before=before,
        after=after,
        num_same=sum(move is None for move in moves),
        variables=tuple(move for move in moves if move is not None),
        ops=tuple(
            DeviceOps(device, counts[0][device], counts[1][device])
            for device in sorted(counts[0].keys() | counts[1].keys())
        ),
        moved_ops=tuple(moved),
        num_same_ops=len(pairs) - len(moved),
        num_unmatched=num_unmatched,
    )


def _move(
    old: tuple[str, tuple[str, ...]] | None, new: tuple[str, tuple[str, ...]] | None
) -> VariableMove | None:
    if old is None and new is not None:
        return VariableMove(new[0], "added", (), new[1])
    if old is not None and new is None:
        return VariableMove(old[0], "gone", old[1], ())
    if old is None or new is None or old[1] == new[1]:
        return None
    return VariableMove(new[0], _how(set(old[1]), set(new[1])), old[1], new[1])


def _how(before: set[str], after: set[str]) -> How:
    """A copy that stays on its device has not moved, even if other copies have."""
    if after < before:
        return "fewer copies"
    return "more copies" if before < after else "moved"


def _places(rows: pa.Table) -> Places:
    """Name and devices of every variable, by its name without counters and its turn."""
    held: dict[str, set[str]] = defaultdict(set)
    columns = (texts(rows, name) for name in ("kind", "name", "device"))
    for kind, name, device in zip(*columns, strict=True):
        if kind == "variable":
            held[name or ""].add(device or UNPLACED)
    turns: Counter[str] = Counter()
    places: Places = {}
    for name in sorted(held, key=natural):
        plain = _COUNTER.sub("", name)
        places[plain, turns[plain]] = name, tuple(sorted(held[name]))
        turns[plain] += 1
    return places


def _ops_by_name(rows: pa.Table) -> dict[tuple[Any, ...], list[Op]]:
    """The ops of every worker by name without counters and type, in the order of the table."""
    ops: dict[tuple[Any, ...], list[Op]] = defaultdict(list)
    columns = (texts(rows, name) for name in ("kind", "name", "op", "device"))
    workers = ints(rows, "worker").tolist()
    for worker, kind, name, op, device in zip(workers, *columns, strict=True):
        if kind != "variable":
            plain = _OP_COUNTER.sub("", name or "")
            ops[worker, plain, op].append((name or "", op, device or UNPLACED))
    return ops


def _matched(
    old: dict[tuple[Any, ...], list[Op]], new: dict[tuple[Any, ...], list[Op]]
) -> tuple[list[tuple[Op, Op]], tuple[int, int]]:
    """Pairs of an op before and after; and how many ops of each segment are in no pair."""
    pairs: list[tuple[Op, Op]] = []
    for key, ops in new.items():
        earlier = old.get(key, [])
        if len(earlier) == len(ops):
            pairs += zip(_in_turn(earlier), _in_turn(ops), strict=True)
    return pairs, (
        sum(map(len, old.values())) - len(pairs),
        sum(map(len, new.values())) - len(pairs),
    )


def _in_turn(ops: list[Op]) -> list[Op]:
    return ops if len(ops) == 1 else sorted(ops, key=lambda op: natural(op[0]))


def _op_counts(rows: pa.Table) -> Counter[str]:
    kinds, devices = texts(rows, "kind"), texts(rows, "device")
    pairs = zip(kinds, devices, strict=True)
    return Counter(device or UNPLACED for kind, device in pairs if kind != "variable")
