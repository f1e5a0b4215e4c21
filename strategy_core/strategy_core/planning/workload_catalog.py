"""Workloads: one file each, such as a user could have written. Listing them needs no TensorFlow.

The files `strategy_core/strategy_core/workloads/*.py` are the built-in ones: `digits_cnn.py` is
`digits-cnn`. The first line of a file's docstring describes it on the page.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from strategy_profiles.errors import SpecError
from strategy_profiles.user_input import files as user_files
from strategy_profiles.user_input.text import quoted

_FILES = Path(__file__).parents[1] / "workloads"


@dataclass(frozen=True, slots=True)
class Listed:
    """A workload as the page lists it."""

    name: str
    description: str
    path: Path


def available() -> list[Listed]:
    """The built-in workloads by name, read without running them."""
    files = sorted(path for path in _FILES.glob("*.py") if not path.name.startswith("_"))
    return [Listed(_name(path), _first_line(path), path) for path in files]


def find(name_or_path: str) -> Path:
    """The file of a workload; raises SpecError for an unknown one."""
    if name_or_path.endswith(".py"):
        return user_files.find_file(name_or_path, "The workload file", "workload").resolve()
    known = {listed.name: listed.path for listed in available()}
    if name_or_path not in known:
        raise SpecError(
            f"There is no workload {quoted(name_or_path)}",
            advice=f"Name a .py file or one of the built-in workloads: {', '.join(known)}",
            field="workload",
        )
    return known[name_or_path]


def _name(path: Path) -> str:
    return path.stem.replace("_", "-")


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]
