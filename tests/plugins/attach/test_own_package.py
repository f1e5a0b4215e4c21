"""A program with a `strategy_core` of its own, in an environment whose programs wait."""

from __future__ import annotations

import os
from pathlib import Path

from strategy_attach.startup_file import line
from strategy_core.processes.import_path import with_own_code
from tests.strategy_core.test_own_package_of_a_program import PROGRAM, own, python

__all__ = ["own"]


def test_a_program_that_would_wait_gets_its_own(tmp_path: Path, own: Path) -> None:
    """As Python runs the line of the `.pth` file, before it knows the program's folder."""
    code = "import sys; path = sys.path.pop(0)\n"
    (tmp_path / "program.py").write_text(f"{code}{line()}sys.path.insert(0, path)\n{PROGRAM}")
    environment = with_own_code(os.environ) | {"STRATEGY_LAB": "1"}
    done = python(tmp_path, "program.py", environment=environment)
    assert (done.returncode, done.stdout) == (0, "user\n")
    assert str(own) in done.stderr
