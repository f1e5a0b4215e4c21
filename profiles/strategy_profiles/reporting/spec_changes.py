"""What two specs differ in, in words: the label of a segment, the text beside Apply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from strategy_profiles.run.events import SegmentOpened

_UNSAID = ("steps", "reconfigure", "hang_timeout_s", "spec_version")
"""Fields whose change is no change of configuration."""


def flatten(spec: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every field by its dotted path."""
    flat: dict[str, Any] = {}
    for key, value in spec.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted paths whose value differs, with the new value."""
    old, new = flatten(before), flatten(after)
    return {path: value for path, value in new.items() if old.get(path) != value}


def describe(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Each change as `devices cpu:4 → cpu:2`; an empty list without a change."""
    old = flatten(before)
    return [
        f"{_name(path)} {_value(path, old.get(path))} → {_value(path, value)}"
        for path, value in changed_fields(before, after).items()
        if path not in _UNSAID
    ]


def segment_titles(segments: Sequence[SegmentOpened]) -> dict[int, str]:
    """Return the title of each segment, by its number.

    Two segments in a row with equal titles differ in another field: the later one is
    titled by the fields that changed.
    """
    titles: dict[int, str] = {}
    for number, segment in enumerate(segments):
        title = segment.title
        before = segments[number - 1] if number else None
        if before is not None and before.title == title:
            title = ", ".join(describe(before.spec, segment.spec)) or title
        titles[segment.segment] = title
    return titles


def value_text(value: Any) -> str:
    """The value of a field in words: `on`, `off`, `none`, or as it is."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)


def text_of_field(flat: Mapping[str, Any], path: str) -> str | None:
    """The value of a flattened spec's field as JSON writes it; None if it has no such field."""
    if path not in flat:
        return None
    value = flat[path]
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _name(path: str) -> str:
    return "delay" if path == "inject" else path.replace("_", " ")


def _value(path: str, value: Any) -> str:
    if path == "inject":
        delays = [item for item in value or () if isinstance(item, Mapping)]
        texts = [f"{item.get('ms'):g} ms in {_replica(item)}" for item in delays]
        return ", ".join(texts) or "none"
    return value_text(value)


def _replica(delay: Mapping[str, Any]) -> str:
    """A replica among those of its worker, which is named where there may be several."""
    worker = delay.get("worker")
    return f"replica {delay.get('replica')}" + (f" of worker {worker}" if worker else "")
