"""What did a live reconfiguration move? Two segments' placements: variables by name, ops by device.

A model that is built again gets its names counted on (`dense_1` becomes `dense_3`), so variables
are matched by their name without the counters, in order. Names of ops follow the strategy and
the optimizer of graphs too closely to match one by one: of them the devices are compared.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from strategy_lab.profiles.analysis.placement import UNPLACED
from strategy_lab.profiles.tables.columns import of_segment, texts

if TYPE_CHECKING:
    from strategy_lab.profiles.tables.store import Profile

How = Literal["moved", "added", "gone"]
Places = dict[tuple[str, int], tuple[str, tuple[str, ...]]]
_COUNTER = re.compile(r"_\d+(?=_|/|$)")


@dataclass(frozen=True, slots=True)
class VariableMove:
    """A variable that changed devices. A segment without the variable has no devices here."""

    name: str
    """Name in the later segment if it is there, otherwise in the earlier one."""
    how: How
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeviceOps:
    """How many ops a device ran before and runs after."""

    device: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PlacementChange:
    """`num_same` variables stayed on the same devices."""

    before: int
    after: int
    num_same: int
    variables: tuple[VariableMove, ...]
    ops: tuple[DeviceOps, ...]
    reason: str | None = None
    """Why there is no answer."""


def placement_change(profile: Profile, before: int, after: int) -> PlacementChange:
    """Compare the placements of two segments of a run."""
    rows = [of_segment(profile.table("placement"), number) for number in (before, after)]
    for number, table in zip((before, after), rows, strict=True):
        if not table.num_rows:
            reason = f"segment {number} recorded no placement"
            return PlacementChange(before, after, 0, (), (), reason)
    old, new = (_places(table) for table in rows)
    moves = [_move(old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())]
    counts = [_op_counts(table) for table in rows]
    return PlacementChange(
        before=before,
        after=after,
        num_same=sum(move is None for move in moves),
        variables=tuple(move for move in moves if move is not None),
        ops=tuple(
            DeviceOps(device, counts[0][device], counts[1][device])
            for device in sorted(counts[0].keys() | counts[1].keys())
        ),
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
    return VariableMove(new[0], "moved", old[1], new[1])


def _places(rows: pa.Table) -> Places:
    """Name and devices of every variable, by its name without counters and its turn."""
    held: dict[str, set[str]] = defaultdict(set)
    columns = (texts(rows, name) for name in ("kind", "name", "device"))
    for kind, name, device in zip(*columns, strict=True):
        if kind == "variable":
            held[name or ""].add(device or UNPLACED)
    turns: Counter[str] = Counter()
    found: Places = {}
    for name in sorted(held, key=_natural):
        plain = _COUNTER.sub("", name)
        found[plain, turns[plain]] = name, tuple(sorted(held[name]))
        turns[plain] += 1
    return found


def _op_counts(rows: pa.Table) -> Counter[str]:
    kinds, devices = texts(rows, "kind"), texts(rows, "device")
    pairs = zip(kinds, devices, strict=True)
    return Counter(device or UNPLACED for kind, device in pairs if kind != "variable")


def _natural(name: str) -> list[tuple[int, str]]:
    """Sorts `dense_2` before `dense_10`, and `dense` before both."""
    parts = [part.lstrip("0") if part.isdigit() else part for part in re.split(r"(\d+)", name)]
    # Fewer digits is the smaller number: a name may have more than `int` converts.
    return [(len(part) if part.isdigit() else -1, part) for part in parts]
