"""Text that a person wrote, as plain values: YAML, JSON, whole numbers.

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

import yaml

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


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text. Raises TextError.

    Dates stay text, as JSON has none; tags other than those of JSON's types are refused.
    """
    _check_length(text)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_size(node, {}, set())
        return _plain(loader.construct_document(node))
    except TextError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = "" if mark is None else f" (line {mark.line + 1}, column {mark.column + 1})"
        raise TextError(f"is not YAML: {error.problem or error.context}{where}") from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise TextError(f"is not YAML: {first_line(error)}") from None
    except (ValueError, TypeError, OverflowError) as error:  # `!!int x`, 5,000 digits
        raise TextError(f"holds a value that cannot be read: {first_line(error)}") from None


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. Raises TextError."""
    _check_length(text)
    try:
        value = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise TextError(f"is not JSON: {error.msg} ({where})") from None
    except RecursionError:
        raise TextError(f"has more than {MAX_DEPTH} levels") from None
    except ValueError as error:  # a number of more digits than Python converts
        raise TextError(f"holds a value that cannot be read: {first_line(error)}") from None
    return _plain(value)


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


def shown(value: object, most: int = 80) -> str:
    """Return a value for quotation in a sentence: on one line, shortened in the middle if long."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 1000:
        return "a number of more than 300 digits"
    return shortened(repr(value) if isinstance(value, str) else str(value), most)


class _Loader(yaml.SafeLoader):
    """YAML of JSON's types, whose nesting is limited while it is read."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        if self.depth > MAX_DEPTH + 1:
            raise TextError(f"has more than {MAX_DEPTH} levels")
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag.rpartition(":")[2] not in _TAGS or not node.tag.startswith(_STANDARD):
            raise TextError(f"has the tag {shown(node.tag)}, which a plain value cannot have")
        return super().construct_object(node, deep)


_STANDARD = "tag:yaml.org,2002:"
_TAGS = ("null", "bool", "int", "float", "str", "seq", "map", "merge", "value")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _check_size(node: yaml.Node, sizes: dict[int, int], above: set[int]) -> int:
    """Return the number of values of a node after alias expansion. Raises TextError."""
    key = id(node)
    if key in above:
        raise TextError("has an alias that contains itself")
    if key not in sizes:
        parts: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            parts = list(node.value)
        elif isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
        sizes[key] = 1 + sum(_check_size(part, sizes, above | {key}) for part in parts)
        if sizes[key] > MAX_VALUES:
            raise TextError(f"has more than {MAX_VALUES:,} values after alias expansion")
    return sizes[key]


def _plain(value: Any, depth: int = 0) -> Any:
    """Return the value if it has only JSON's types and is within the limits. Raises TextError."""
    if depth > MAX_DEPTH:
        raise TextError(f"has more than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {_key(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise TextError("holds a number that is not finite")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise TextError("holds a whole number of more than 64 bits")
    return value


def _key(key: Hashable) -> str:
    if not isinstance(key, str):
        raise TextError(f"has the key {shown(key)}, which is not text")
    _check_text(key)
    return key


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise TextError("holds half of a character (a lone surrogate)") from None


def _check_length(text: str) -> None:
    if len(text) > MAX_BYTES:
        raise TextError(f"is longer than {MAX_BYTES:,} characters")


def _no_number(word: str) -> None:
    raise TextError(f"holds {word}: JSON has finite numbers only")


def first_line(error: Exception) -> str:
    return shown(str(error).strip().split("\n", 1)[0].rstrip("."), 200)[1:-1]
