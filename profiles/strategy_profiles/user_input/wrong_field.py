"""Convert pydantic's error about a field to words: what the field accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "string": "text",
    "dict": "a mapping of fields",
    "mapping": "a mapping of fields",
    "model": "a mapping of fields",
    "tuple": "a list",
    "list": "a list",
}
"""Keys are the first word of pydantic's error type: `int_parsing`, `int_type`, `int_from_float`."""


def what_it_takes(error: Mapping[str, Any]) -> str:
    """Return what the field of one of `ValidationError.errors()` accepts: `it must be text`."""
    kind, limits = str(error["type"]), error.get("ctx", {})
    if kind == "missing":
        return "it has no value, and no default"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"it must be {words} {str(limits[key]).removesuffix('.0')}"
    if kind == "literal_error":
        return f"it must be one of {limits['expected'].replace(' or ', ', ')}"
    taken = _KINDS.get(kind) or _KINDS.get(kind.partition("_")[0])
    if taken is not None:
        return f"it must be {taken}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return message if kind == "value_error" else message[:1].lower() + message[1:]
