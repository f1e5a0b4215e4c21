"""Records as events, where they have the fields and types of one: anybody may have written them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_args

from strategy_lab.profiles.events import Event
from strategy_lab.profiles.sources import Record

EventType = TypeVar("EventType", bound=Event)


def as_event(record: Record, kind: type[EventType]) -> EventType | None:
    """The event in a record; None where a field is missing or of another type.

    Fields that the event does not know are left out.
    """
    values = {}
    for name, default, fits in _FIELDS[kind.kind]:
        value = record.get(name, default)
        if value is MISSING or not fits(value):
            return None
        values[name] = value
    return kind(**values)


def is_int(value: object) -> bool:
    """An integer of at most 64 bits; `True` is none."""
    return type(value) is int and -(2**63) <= value < 2**63


def is_text(value: object) -> bool:
    """Text that UTF-8 can spell: JSON can carry half of a surrogate pair."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_number(value: object) -> bool:
    return isinstance(value, float) or is_int(value)


def _fields(kind: type) -> list[tuple[str, Any, Callable[[object], bool]]]:
    """Name, default and check of every field."""
    found = []
    for item in fields(kind):
        default = item.default
        if item.default_factory is not MISSING:
            default = item.default_factory()
        found.append((item.name, default, _check(str(item.type))))
    return found


def _check(annotation: str) -> Callable[[object], bool]:
    """The check for an annotation of `profiles.events`, e.g. `list[str] | None`."""
    plain = annotation.removesuffix(" | None")
    if plain != annotation:
        inner = _check(plain)
        return lambda value: value is None or inner(value)
    if plain.startswith("list["):
        item = _check(plain[5:-1])
        return lambda value: isinstance(value, list) and all(map(item, value))
    if plain.startswith("dict["):
        return lambda value: isinstance(value, dict)
    return {"int": is_int, "float": is_number, "str": is_text, "bool": _is_bool}[plain]


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


_FIELDS = {event.kind: _fields(event) for event in get_args(Event)}
