"""What did a live reconfiguration move? Two segments' placements, name by name."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from profiles.analysis.columns import of_segment, texts

if TYPE_CHECKING:
    from profiles.store import Profile

How = Literal["moved", "added", "gone"]
Places = dict[tuple[str, str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Change:
    """One op or variable that does not sit where it did. No device: it is not there."""

    kind: str
    name: str
    how: How
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacementChange:
    """`num_same` ops and variables stayed on the same devices; variables come first."""

    before: int
    after: int
    num_same: int
    changes: tuple[Change, ...]
    reason: str | None = None
    """Why there is no answer, where there is none."""


def placement_change(profile: Profile, before: int, after: int) -> PlacementChange:
    """Compare the placements of two segments of a run."""
    old, new = _places(profile, before), _places(profile, after)
    if not old or not new:
        which = before if not old else after
        return PlacementChange(before, after, 0, (), f"segment {which} recorded no placement")
    changed = [key for key in old.keys() | new.keys() if old.get(key) != new.get(key)]
    changes = [
        Change(*key, _how(key, old, new), old.get(key, ()), new.get(key, ()))
        for key in sorted(changed, key=lambda key: (key[0] != "variable", key[1]))
    ]
    num_same = sum(new.get(key) == devices for key, devices in old.items())
    return PlacementChange(before, after, num_same, tuple(changes))


def _how(key: tuple[str, str], old: Places, new: Places) -> How:
    if key not in old:
        return "added"
    return "moved" if key in new else "gone"


def _places(profile: Profile, segment: int) -> Places:
    rows = of_segment(profile.table("placement"), segment)
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    columns = (texts(rows, name) for name in ("kind", "name", "device"))
    for kind, name, device in zip(*columns, strict=True):
        found[kind or "op", name or ""].add(device or "(no device)")
    return {key: tuple(sorted(devices)) for key, devices in found.items()}
