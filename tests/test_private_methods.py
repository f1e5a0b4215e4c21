"""A class of the lab overrides no private method of another one: what may be replaced is public."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("app", "profiles", "strategy_core", "plugins")

Class = tuple[str, list[str], set[str]]
"""File, names of the bases, and names of the private methods."""


def classes_of(file: str, source: str) -> Iterator[tuple[str, Class]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).split("[")[0].rpartition(".")[2] for base in node.bases]
            methods = {
                each.name
                for each in node.body
                if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
                and each.name.startswith("_")
                and not each.name.startswith("__")
            }
            yield node.name, (file, bases, methods)


def overrides(classes: list[tuple[str, Class]]) -> Iterator[str]:
    """Each private method that a class has and one of its bases has, too.

    A class that is called as its base is left out: the base is a class of TensorFlow.
    """
    for name, (file, bases, methods) in classes:
        for base, (_, _, others) in classes:
            if base in bases and base != name:
                yield from (f"{file}: {name}.{method}" for method in sorted(methods & others))


def test_no_class_overrides_a_private_method_of_another() -> None:
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    classes = [
        klass
        for file in files
        if re.search(r"^ *class ", source := file.read_text("utf-8"), re.MULTILINE)
        for klass in classes_of(str(file.relative_to(ROOT)), source)
    ]
    assert len(classes) > 500
    assert list(overrides(classes)) == []


def test_an_override_is_found() -> None:
    source = (
        "class A:\n    def _start(self): ...\n    def stop(self): ...\n"
        "class B(m.A):\n    def _start(self): ...\n    def stop(self): ...\n"
    )
    assert list(overrides(list(classes_of("x.py", source)))) == ["x.py: B._start"]
