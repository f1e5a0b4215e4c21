"""Changes to events and to `run.json`, made on their records: types, ranges, keys, lines."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import msgspec

from strategy_profiles.run.events import Event, kind_of
from tests.fuzz.mutation import Mutation
from tests.fuzz.values import is_other_type, near_value, wrong_value

_REQUIRED = {
    kind_of(event): {item.name for item in msgspec.structs.fields(event) if item.required}
    for event in get_args(Event)
}
"""By kind the fields that every record has: others may be left out by an older version."""

_SAMPLED = ("clock", "memory", "links", "closure", "note", "placement", "environment")
"""Kinds of which a run may have any number: one more or less cannot be detected."""

_CHECKSUMS = ('"line_crc32"', '"values_crc32"')
Place = tuple[Any, Any]
"""A container and a key of it."""


def mutate_json(file: Path, rng: random.Random) -> Mutation:
    """Change one thing in a file of JSON or of JSON lines."""
    if file.suffix == ".json":
        text = file.read_text()
        document = json.loads(text)
        said, is_detectable = _change_record(document, rng)
        file.write_text(_dump(document))
        return Mutation(f"{file.name}: {said}", is_detectable or has_checksum(text))
    lines = file.read_text().splitlines()
    number = rng.randrange(len(lines))
    kind = json.loads(lines[number])["kind"]
    how = rng.choice((_record, _record, _record, _record, _record, _record, *_LINES))
    said, is_detectable = how(lines, number, rng)
    if how is not _record and kind in _SAMPLED:
        is_detectable = False
    file.write_text("".join(f"{line}\n" for line in lines), errors="surrogatepass")
    return Mutation(f"{file.parent.name}/{file.name} line {number} ({kind}): {said}", is_detectable)


def has_checksum(text: str) -> bool:
    """Whether any change of `run.json` or of a line is detectable."""
    return any(key in text for key in _CHECKSUMS)


def _record(lines: list[str], number: int, rng: random.Random) -> tuple[str, bool]:
    record = json.loads(lines[number])
    said, is_detectable = _change_record(record, rng)
    is_checked = has_checksum(lines[number])
    lines[number] = _dump(record)
    return said, is_detectable or is_checked


def _without(lines: list[str], number: int, _rng: random.Random) -> tuple[str, bool]:
    del lines[number]
    return "line deleted", True


def _twice(lines: list[str], number: int, rng: random.Random) -> tuple[str, bool]:
    lines.insert(rng.randrange(len(lines) + 1), lines[number])
    return "line repeated", True


def _moved(lines: list[str], number: int, rng: random.Random) -> tuple[str, bool]:
    lines.insert(rng.randrange(len(lines)), lines.pop(number))
    return "line moved", True


def _garbage(lines: list[str], number: int, rng: random.Random) -> tuple[str, bool]:
    text = rng.choice(("null", "[]", "{}", "[" * 100_000, "9" * 5000, '{"kind": 3}', "\x00", "{"))
    if rng.random() < 0.5:
        lines[number] = text
        return f"line replaced by {text[:20]!r}", True
    lines.insert(number, text)
    return f"line {text[:20]!r} inserted", True


_LINES: tuple[Callable[[list[str], int, random.Random], tuple[str, bool]], ...] = (
    _without,
    _twice,
    _moved,
    _garbage,
)


def _change_record(record: Any, rng: random.Random) -> tuple[str, bool]:
    places = list(_places(record))
    path, (container, key) = rng.choice(places)
    before = container[key]
    what = rng.random()
    if what < 0.12:
        del container[key]
        return f"{path} deleted", _is_required(record, path)
    if what < 0.17 and isinstance(container, dict):
        container[f"{key}_"] = container.pop(key)
        return f"{path} renamed", _is_required(record, path)
    after = near_value(before, rng) if what < 0.35 else wrong_value(rng)
    container[key] = after
    said = f"{path}: {str(before)[:40]} -> {str(after)[:40]!r}"
    return said, _is_out_of_range(before, after)


def _is_required(record: Any, path: str) -> bool:
    """Whether a reader can know that something is missing."""
    return path in _REQUIRED.get(str(record.get("kind")), ())


def _is_out_of_range(before: Any, after: Any) -> bool:
    if after is None or before is None:
        return False  # a number that is not known, which most fields allow
    if is_other_type(before, after):
        return True
    if isinstance(before, str | list | dict):
        return False
    is_fraction = isinstance(before, float) or isinstance(after, float)
    return not abs(after) < math.inf if is_fraction else abs(after) >= 2**63


def _places(value: Any, path: str = "") -> list[tuple[str, Place]]:
    found: list[tuple[str, Place]] = []
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    for key, item in pairs:
        inner = f"{path}.{key}" if path else str(key)
        found.append((inner, (value, key)))
        found += _places(item, inner)
    return found


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
