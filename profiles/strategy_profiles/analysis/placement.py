"""Placement: ops per device, and every variable with its kind, copies and bytes."""

from __future__ import annotations

from collections import Counter, defaultdict

from msgspec import Struct

from strategy_profiles.reporting.device_names import in_order
from strategy_profiles.run.events import PlacementRecorded
from strategy_profiles.tables.columns import floats, of_segment, texts
from strategy_profiles.tables.store import Profile

UNPLACED = "(no device)"
NO_PLACEMENT = "no placement was recorded for this segment"


class DevicePlacement(Struct, frozen=True):
    """One device's share. `variable_bytes` is None where a variable's size is unknown."""

    device: str
    num_ops: int
    num_variables: int
    variable_bytes: float | None
    top_ops: tuple[tuple[str, int], ...]
    """The most frequent op types and how often each occurs."""


class VariablePlacement(Struct, frozen=True):
    """One variable and the devices that hold a copy of it."""

    name: str
    kind: str
    """`MirroredVariable`, `SyncOnReadVariable`, `Variable`, ..."""
    devices: tuple[str, ...]
    bytes_per_copy: float | None


class Placement(Struct, frozen=True):
    """The placement of a segment; `reason` says why it is unknown."""

    segment: int
    devices: tuple[DevicePlacement, ...]
    variables: tuple[VariablePlacement, ...]
    reason: str | None = None


def placement(profile: Profile, segment: int) -> Placement:
    """Count the placement table of a segment."""
    rows = of_segment(profile.table("placement"), segment)
    if not rows.num_rows:
        return Placement(segment, (), (), _why_none(profile, segment))
    ops: dict[str, Counter[str]] = defaultdict(Counter)
    held: dict[str, dict[str, float]] = defaultdict(dict)
    kinds: dict[str, str] = {}
    columns = (texts(rows, name) for name in ("kind", "name", "op", "device"))
    for kind, name, op, device, size in zip(*columns, floats(rows, "bytes"), strict=True):
        where, what = device or UNPLACED, name or ""
        if kind == "variable":
            held[where][what] = float(size)
            kinds.setdefault(what, op or "Variable")
        else:
            ops[where][op or "unknown"] += 1
    devices = in_order({*ops, *held})
    return Placement(
        segment=segment,
        devices=tuple(_of_device(device, ops[device], held[device]) for device in devices),
        variables=tuple(_of_variable(name, kind, held) for name, kind in sorted(kinds.items())),
    )


def _of_device(device: str, ops: Counter[str], held: dict[str, float]) -> DevicePlacement:
    return DevicePlacement(
        device=device,
        num_ops=ops.total(),
        num_variables=len(held),
        variable_bytes=_none_if_nan(sum(held.values())),
        top_ops=tuple(ops.most_common(10)),
    )


def _of_variable(name: str, kind: str, held: dict[str, dict[str, float]]) -> VariablePlacement:
    devices = tuple(in_order(device for device, variables in held.items() if name in variables))
    return VariablePlacement(name, kind, devices, _none_if_nan(held[devices[0]][name]))


def _none_if_nan(value: float) -> float | None:
    return None if value != value else float(value)  # noqa: PLR0124  NaN is not itself


def _why_none(profile: Profile, segment: int) -> str:
    for event in profile.events(PlacementRecorded):
        if event.segment == segment and event.reason:
            return event.reason
    return NO_PLACEMENT
