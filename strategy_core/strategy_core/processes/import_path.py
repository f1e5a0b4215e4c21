"""Where child processes find the lab's own code, and user code its own modules.

The lab starts children without the current folder in front of `sys.path` (`-P`), and keeps the
folders of its own code behind all others: next to an installed lab lie other packages, and a
project may have a module of the same name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PACKAGES = ("strategy_core", "strategy_profiles", "strategy_app")


@cache
def own_packages() -> tuple[Path, ...]:
    """The folders of the lab's packages: in a checkout's source roots, or in site-packages."""
    specs = (find_spec(name) for name in _PACKAGES)
    return tuple(Path(spec.origin).resolve().parent for spec in specs if spec and spec.origin)


def source_roots() -> tuple[str, ...]:
    """The folders in which Python finds the lab's packages, each once."""
    return tuple(dict.fromkeys(str(package.parent) for package in own_packages()))


def module_command(module: str) -> list[str]:
    """The command that runs one of the lab's modules in a child process."""
    return [sys.executable, "-P", "-m", module]


def with_own_code(inherited: Mapping[str, str]) -> dict[str, str]:
    """Environment variables with which a child finds the lab's code from any current folder.

    What the user's PYTHONPATH names comes first.
    """
    path = inherited.get("PYTHONPATH", "")
    missing = (root for root in source_roots() if root not in path.split(os.pathsep))
    return {**inherited, "PYTHONPATH": os.pathsep.join(filter(None, [path, *missing]))}


def import_as_script(file: Path) -> None:
    """Set `sys.path` as for `python FILE`, with the current folder behind installed packages.

    Python puts PYTHONPATH in front of the standard library and of installed packages. Left there,
    site-packages would answer an import of the standard library.
    """
    first, last = str(file.resolve().parent), source_roots()
    others = [entry for entry in sys.path if entry not in (first, *last)]
    sys.path[:] = [first, *others, str(Path.cwd()), *last]
