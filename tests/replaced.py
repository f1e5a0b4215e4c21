"""A value with other fields, be it a dataclass or a struct of msgspec."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def replace(value: T, **changes: Any) -> T:
    """Return a copy with these fields changed."""
    make: Any = msgspec.structs if isinstance(value, msgspec.Struct) else dataclasses
    changed: T = make.replace(value, **changes)
    return changed
