"""Where child processes find the lab's own code, and user code its own modules.

A project may have an `app.py`, a `profiles/` or a `tests/` of its own. The lab therefore imports
its own code as `strategy_core` and `strategy_lab`, starts children without the current
folder in front of `sys.path` (`-P`), and keeps the folder of its own code behind all others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def package_root() -> Path:
    """The folder that holds `strategy_core` and `strategy_lab`: a checkout, or site-packages."""
    return Path(__file__).resolve().parents[2]


def module_command(module: str) -> list[str]:
    """The command that runs one of the lab's modules in a child process."""
    return [sys.executable, "-P", "-m", module]


def with_own_code(inherited: Mapping[str, str]) -> dict[str, str]:
    """Environment variables with which a child finds the lab's code from any current folder.

    What the user's PYTHONPATH names comes first.
    """
    paths = [inherited.get("PYTHONPATH", ""), str(package_root())]
    return {**inherited, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def import_as_script(file: Path) -> None:
    """Set `sys.path` as for `python FILE`, with the current folder behind installed packages.

    Python puts PYTHONPATH in front of the standard library and of installed packages. Left there,
    the folder of a checkout would answer a user's `import tests` or `import app` with the lab's.
    """
    first, last = str(file.resolve().parent), str(package_root())
    others = [entry for entry in sys.path if entry not in (first, last)]
    sys.path[:] = [first, *others, str(Path.cwd()), last]
