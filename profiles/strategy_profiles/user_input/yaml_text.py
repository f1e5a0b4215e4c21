"""YAML that a person wrote, as plain values; apart, because reading a run needs no YAML."""

from __future__ import annotations

from typing import Any

import yaml

from strategy_profiles.user_input.text import (
    MAX_DEPTH,
    MAX_VALUES,
    TextError,
    check_length,
    first_line,
    plain_value,
    quoted,
)


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text. Raises TextError.

    Dates stay text, as JSON has none; tags other than those of JSON's types are refused.
    """
    check_length(text)
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_size(node, {}, set())
        return plain_value(loader.construct_document(node))
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
            raise TextError(f"has the tag {quoted(node.tag)}, which a plain value cannot have")
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
