"""Whether a run that was damaged tells other numbers than before without a word of it.

Numbers are the leaves of a summary's segments. One may become unavailable (null, with its reason).
One that is another number, or a segment or replica that is no longer there, needs a note or a
changed status, unless the mutation could not be detected (`Mutation.is_detectable`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

_TOLERANCE = 1e-9
_SKIPPED = ("findings", "spec", "notes")
"""Sentences, and what was asked: not measured."""


def silent_differences(
    before: dict[str, Any],
    after: dict[str, Any],
    notes_before: tuple[str, ...],
    notes_after: tuple[str, ...],
) -> list[str]:
    """The numbers that differ, although no note says that something is wrong with the run."""
    if before["status"] != after["status"] or set(notes_after) - set(notes_before):
        return []
    first, second = dict(_leaves(before["segments"])), dict(_leaves(after["segments"]))
    return [
        f"{path}: {value} -> {second.get(path, 'not there')}"
        for path, value in first.items()
        if value is not None and _differs(value, second, path)
    ]


def _differs(value: float, found: dict[str, float | None], path: str) -> bool:
    if path not in found:
        parent = path.rpartition(".")[0]
        # A part that is null as a whole is unavailable; one that is gone is silent.
        return not any(found.get(above, 0) is None for above in _above(parent))
    other = found[path]
    return other is not None and not math.isclose(value, other, rel_tol=_TOLERANCE, abs_tol=1e-9)


def _above(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition(".")[0]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers by path, and nulls."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _SKIPPED:
                yield from _leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{path}.{number}")
    elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield path, value
