"""The demonstrations as text, in order, with title and code. Does not import TensorFlow."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from strategy_contexts.demonstrations import COURSE
from strategy_profiles.errors import SpecError

FOLDER = Path(__file__).parent / "demonstrations"


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One program of the course."""

    name: str
    title: str
    text: str
    source: str


def demonstrations() -> list[Demonstration]:
    """All demonstrations, in the order of the course."""
    return [demonstration(name) for name in COURSE]


def demonstration(name: str) -> Demonstration:
    """The demonstration with this name; raises SpecError if it does not exist."""
    if name not in COURSE:
        raise SpecError(
            f"There is no demonstration {name!r}", advice=f"Choose one of {', '.join(COURSE)}"
        )
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    title, text = headline(source)
    return Demonstration(name, title, text, source)


def headline(source: str) -> tuple[str, str]:
    """Title and explanation from a program's docstring; "" without a docstring or if not Python."""
    try:
        words = ast.get_docstring(ast.parse(source)) or ""
    except SyntaxError:
        words = ""
    title, _, text = words.partition("\n")
    return title.rstrip("."), " ".join(text.split())
