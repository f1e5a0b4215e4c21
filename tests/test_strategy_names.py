"""What the lab does depends on a strategy's traits, never on its name: another can have them, too.

A strategy's own file may know its name, and a default or a text for people may name one. A class of
TensorFlow's is a name, too: nothing outside `strategies` is chosen by `isinstance`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import pytest

from strategy_core.planning import strategy_catalog

ROOT = Path(__file__).parents[1]
FOLDERS = ("app", "profiles", "strategy_core", "plugins")
OTHER_MEANINGS = {
    ("profiles/strategy_profiles/spec/run_spec.py", "tpu"): "kind of device",
    ("strategy_core/strategy_core/planning/device_plan.py", "tpu"): "kind of device",
    ("strategy_core/strategy_core/cli/worker.py", "tpu"): "engine of a cluster",
    ("plugins/tpu/strategy_tpu/shown/layout_form.py", "tpu"): "field of a RunSpec",
    ("plugins/contexts/strategy_contexts/trace.py", "default"): "context",
    ("plugins/contexts/strategy_contexts/lecture/scenes/merge_call.py", "default"): "context",
}


def names_in(file: str, source: str) -> Iterator[tuple[str, int, str]]:
    """File, line and name of every choice by a strategy's name in Python or JavaScript."""
    names = set(strategy_catalog.names())
    if file.endswith(".js"):
        either = "|".join(map(re.escape, sorted(names)))
        name = rf"""["'`]({either})["'`]"""
        for choice in re.finditer(rf"""[!=]==?\s*{name}|{name}\s*[!=]==?|case\s+{name}""", source):
            chosen = next(filter(None, choice.groups()))
            yield file, source.count("\n", 0, choice.start()) + 1, chosen
        return
    if not re.search(rf"""["']({"|".join(map(re.escape, names))})["']|Strategy""", source):
        return  # to parse all files takes seconds
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.expr | None] = []
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = list(node.elts)
        elif isinstance(node, ast.Dict):
            parts = list(node.keys)
        elif isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        elif isinstance(node, ast.MatchValue) or _is_constant(node):
            parts = [node.value]
        elif isinstance(node, ast.Call):
            yield from ((file, node.lineno, name) for name in _classes_asked_for(node))
        for part in parts:
            if isinstance(part, ast.Constant) and part.value in names:
                yield file, part.lineno, str(part.value)


def _classes_asked_for(call: ast.Call) -> Iterator[str]:
    """The strategies' classes in a call of `isinstance` or `issubclass`."""
    if ast.unparse(call.func) not in ("isinstance", "issubclass"):
        return
    for part in ast.walk(call.args[1]):
        name = ast.unparse(part).rpartition(".")[2]
        if isinstance(part, ast.Attribute | ast.Name) and re.fullmatch(
            r"\w+Strategy(V[12])?", name
        ):
            yield name


def _is_constant(node: ast.AST) -> TypeGuard[ast.Assign]:
    """Whether a value gets the name of a constant, which is there to be compared."""
    return isinstance(node, ast.Assign) and all(
        isinstance(target, ast.Name) and target.id.isupper() for target in node.targets
    )


def test_no_choice_is_made_by_the_name_of_a_strategy() -> None:
    own = ROOT / "strategy_core" / "strategy_core" / "strategies"
    files = [
        path
        for folder in FOLDERS
        for pattern in ("*.py", "*.js")
        for path in (ROOT / folder).rglob(pattern)
        if own not in path.parents and not path.name.endswith(".min.js")  # a library
    ]
    assert len(files) > 300, "these are the lab's sources"
    named = [
        choice
        for path in files
        for choice in names_in(str(path.relative_to(ROOT)), path.read_text("utf-8"))
    ]
    assert {(file, name) for file, _, name in named} >= OTHER_MEANINGS.keys(), "one is not needed"
    choices = [choice for choice in named if (choice[0], choice[2]) not in OTHER_MEANINGS]
    assert choices == [], "ask for a trait of strategy_catalog.StrategyRow, or run/topology.py"


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("a.py", 'if spec.strategy == "tpu": pass'),
        ("a.py", 'if spec.strategy not in ("one-device",): pass'),
        ("a.py", 'WHY = {"central-storage": "it has one copy"}'),
        ("a.py", 'match spec.strategy:\n    case "mirrored": pass'),
        ("a.py", 'BY_DESIGN = "central-storage"'),
        ("a.py", 'name = "parameter-server" if has_servers else asked'),
        ("a.py", "isinstance(strategy, tf.distribute.TPUStrategy)"),
        ("a.py", "issubclass(kind, (str, MirroredStrategy))"),
        ("a.js", 'const served = segment.strategy === "parameter-server";'),
        ("a.js", "switch (strategy) { case 'default': }"),
    ],
)
def test_each_way_to_choose_by_name_is_found(file: str, source: str) -> None:
    assert len(list(names_in(file, source))) == 1


def test_a_default_and_a_text_may_name_a_strategy() -> None:
    source = 'strategy: str = "mirrored"\nadvice = "Choose parameter-server"\n'
    assert list(names_in("a.py", source)) == []
