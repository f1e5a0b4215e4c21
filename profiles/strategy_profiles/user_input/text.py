"""Text that a person wrote, as plain values: JSON and whole numbers; YAML is in `yaml_text`.

Every flag, spec file and cluster file goes through here (files by way of
`strategy_profiles.user_input.files`). The result consists of what JSON has: mappings with text as
keys, lists, text, finite numbers of at most 64 bits, booleans and null. Text beyond the limits
below is refused with a sentence.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable
from typing import Any

from strategy_profiles.errors import shortened

MAX_BYTES = 100_000
"""Limit for a text. PyYAML reads about 100 kB per second."""
MAX_DEPTH = 32
"""Limit for nested mappings and lists."""
MAX_VALUES = 20_000
"""Limit for values in a text. Values of YAML aliases count at each use, because a kilobyte of
aliases can expand to billions of values."""


class TextError(ValueError):
    """A text is invalid. The message is the end of a sentence: `has more than 32 levels`."""


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. Raises TextError."""
    check_length(text)
    try:
        value = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise TextError(f"is not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise TextError(f"has more than {MAX_DEPTH} levels") from None
    except ValueError as error:  # a number of more digits than Python converts
        raise TextError(f"holds a value that cannot be read: {first_line(error)}") from None
    return plain_value(value)


def parse_whole(text: str, most: int = 2**63 - 1) -> int:
    """Return the integer in a text of decimal digits, from 0 to `most`. Raises TextError."""
    digits = text.strip()
    if not re.fullmatch(r"[0-9]+", digits):
        raise TextError("is not a whole number")
    if len(digits.lstrip("0")) > len(str(most)) or int(digits.lstrip("0") or "0") > most:
        raise TextError(f"is more than {most}")
    return int(digits)


def whole_or_none(text: str) -> int | None:
    """Return the integer in a text, such as a URL's query, or None if it is not one."""
    try:
        return parse_whole(text)
    except TextError:
        return None


def as_utf8(text: str) -> str:
    """Return a text that UTF-8 can spell: a byte of a file's name may be none, as `\\udc80`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def quoted(value: object, most: int = 80) -> str:
    """Return a value for quotation in a sentence: on one line, shortened in the middle if long."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 1000:
        return "a number of more than 300 digits"
    return shortened(repr(value) if isinstance(value, str) else str(value), most)


def plain_value(value: Any, depth: int = 0) -> Any:
    """Return the value if it has only JSON's types and is within the limits. Raises TextError."""
    if depth > MAX_DEPTH:
        raise TextError(f"has more than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {_key(key): plain_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_value(item, depth + 1) for item in value]
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise TextError("holds a number that is not finite")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise TextError("holds a whole number of more than 64 bits")
    return value


def _key(key: Hashable) -> str:
    if not isinstance(key, str):
        raise TextError(f"has the key {quoted(key)}, which is not text")
    _check_text(key)
    return key


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TextError("holds half of a character (a lone surrogate)") from None


def check_length(text: str) -> None:
    """Raise TextError for a text that is too long to be read."""
    if len(text) > MAX_BYTES:
        raise TextError(f"is longer than {MAX_BYTES:,} characters")


def _no_number(word: str) -> None:
    raise TextError(f"holds {word}: JSON has finite numbers only")


def first_line(error: Exception) -> str:
    return quoted(str(error).strip().split("\n", 1)[0].rstrip("."), 200)[1:-1]
