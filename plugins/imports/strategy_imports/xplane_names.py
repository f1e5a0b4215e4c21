"""Names and stats of a plane: what its events mean, read entry by entry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError

from strategy_imports.proto_fields import Buffer
from strategy_imports.recording import EventKind, Value
from strategy_profiles.capture.xplane_message import message_class
from strategy_profiles.spec.limits import LONGEST_NAME

Place = tuple[int, int]
_FEW_CHARS = LONGEST_NAME // 4
"""A character takes up to four bytes."""


@dataclass(slots=True)
class PlaneNames:
    """The metadata of one plane by id."""

    kinds: dict[int, EventKind] = field(default_factory=dict)
    stats: dict[int, str] = field(default_factory=dict)
    """Names of stats. References point here, too: a name may be any text."""
    own: dict[str, Value] = field(default_factory=dict)
    """The stats of the plane itself."""
    num_damaged: int = 0


def read_names(
    buffer: Buffer, events: Iterable[Place], stats: Iterable[Place], own: Iterable[Place]
) -> PlaneNames:
    """Read the entries at these positions; a damaged one is counted and left out."""
    names = PlaneNames()
    for entry in _parsed(buffer, stats, "StatMetadataEntry", names):
        names.stats[entry.key] = _text(entry.value.name)
    for entry in _parsed(buffer, events, "EventMetadataEntry", names):
        value = entry.value
        names.kinds[entry.key] = EventKind(
            _text(value.name), _text(value.display_name), _values(value.stats, names.stats)
        )
    names.own = _values(_parsed(buffer, own, "XStat", names), names.stats)
    return names


def _parsed(
    buffer: Buffer, places: Iterable[Place], message: str, names: PlaneNames
) -> Iterable[Any]:
    parse = message_class(message).FromString
    for begin, end in places:
        try:
            yield parse(buffer[begin:end])
        except DecodeError:
            names.num_damaged += 1


def _values(stats: Iterable[Any], names: dict[int, str]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for stat in stats:
        name = names.get(stat.metadata_id)
        if name is None:
            continue
        text = names.get(stat.ref_value) if stat.ref_value else _text(stat.str_value)
        values[name] = text or stat.double_value or stat.uint64_value or stat.int64_value
    return values


def _text(raw: bytes) -> str:
    text = raw[:LONGEST_NAME].decode("utf-8", "replace")
    is_short = len(text) <= _FEW_CHARS or len(text.encode()) <= LONGEST_NAME
    return text if is_short else text[:_FEW_CHARS]
