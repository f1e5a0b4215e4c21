"""The calls of `Dataset.map` in a program, and what their functions do, by its text."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from msgspec import Struct

from strategy_profiles.analysis.program_loops import name_of, nodes_of
from strategy_profiles.run.event_parts import SourceLine

_DRAWS = re.compile(r"\brandom|Random|_noise|shuffle\(")
_OF_ONE = re.compile(
    r"decode_|read_file|parse_(single|sequence|example|tensor)|(py|numpy)_function|\bimage\.|"
    r"string_split|strings\.split|ragged"
)
"""What works on a file, a text or a picture of its own, or in Python, and not on a whole batch."""


class MapCall(Struct, frozen=True):
    """A call of `map`."""

    at: SourceLine
    """Its line."""
    function: str
    """What is given to it, as the program says it."""
    draws: bool
    """Whether its function draws random numbers: it makes something else in each epoch."""
    takes_batches: bool
    """Whether all of it may be made of ops that take whole batches."""
    is_parallel: bool
    """Whether it is given the number of calls at once."""


def map_calls(sources: Mapping[str, str]) -> tuple[MapCall, ...]:
    """Return the calls in the order of their lines; of a function that the file has not, nothing
    is known, and it counts as drawing and as working on one example."""
    return tuple(call for file, text in sources.items() for call in _of_file(file, text))


def _of_file(file: str, text: str) -> list[MapCall]:
    nodes, lines = nodes_of(text), ["", *text.splitlines()]
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
    placed_calls = []
    for node in nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        given = node.args[0]
        if node.func.attr != "map" or not isinstance(given, ast.Name | ast.Attribute | ast.Lambda):
            continue
        line = node.func.end_lineno or node.lineno
        does = _text_of(given, functions)
        call = MapCall(
            at=SourceLine(file, line, lines[line].rstrip()),
            function="lambda" if isinstance(given, ast.Lambda) else ast.unparse(given),
            draws=does is None or _DRAWS.search(does) is not None,
            takes_batches=does is not None and _OF_ONE.search(does) is None,
            is_parallel=len(node.args) > 1
            or any(each.arg == "num_parallel_calls" for each in node.keywords),
        )
        placed_calls.append((line, node.func.end_col_offset or 0, call))
    return [call for *_, call in sorted(placed_calls, key=lambda each: each[:2])]


def _text_of(given: ast.expr, functions: Mapping[str, ast.FunctionDef]) -> str | None:
    """The text of a function, with those of the file that it calls; None if it is not there."""
    start = given if isinstance(given, ast.Lambda) else functions.get(name_of(given) or "")
    if start is None:
        return None
    parts: dict[str, str] = {}
    waiting: list[tuple[str, ast.AST]] = [("", start)]
    while waiting:
        name, node = waiting.pop()
        if name in parts:
            continue
        parts[name] = ast.unparse(node)
        calls = (each for each in ast.walk(node) if isinstance(each, ast.Call))
        called = [functions.get(name_of(each.func) or "") for each in calls]
        waiting += [(each.name, each) for each in called if each is not None]
    return "\n".join(parts.values())
