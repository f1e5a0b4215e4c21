"""The command that a traced program is started with: Python itself, told to load the lab first."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from strategy_core.tracing.settings import Settings
from strategy_lab.profiles.errors import LabError

_SITE = Path(__file__).resolve().parent / "site"


def python_command(
    program: Sequence[str], module: Sequence[str] | None, code: Sequence[str] | None
) -> list[str]:
    """The command line of the program, as a person would write it for Python.

    Raises LabError if there is no such program.
    """
    if module is not None:
        return [sys.executable, "-m", *module, *program]
    if code is not None:
        return [sys.executable, "-c", *code, *program]
    if not program:
        raise LabError(
            "No program was named",
            advice="Write strategy-lab trace script.py, -m MODULE or -c CODE",
        )
    return [sys.executable, _script(program[0]), *program[1:]]


def name_of(program: Sequence[str], module: Sequence[str] | None) -> str:
    """What the run is called after: the script or the module; `code` of `-c`."""
    if module:
        return module[0].replace(".", "-")
    return Path(program[0]).stem if program else "code"


def environment_of(inherited: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Environment variables with which Python loads the lab before the program."""
    paths = [str(_SITE), inherited.get("PYTHONPATH", "")]
    joined = os.pathsep.join(filter(None, paths))
    return {**inherited, **settings.environment(), "PYTHONPATH": joined}


def _script(name: str) -> str:
    """The file of a script, or of a command that is written in Python."""
    file = Path(name)
    if file.exists():
        if not (file.is_file() or file.is_dir()):  # a pipe: reading it would wait for its writer
            raise LabError(
                f"{name} is no file, but a pipe or a device",
                advice="Name a Python script, or give the code itself: -c CODE",
            )
        return name
    found = shutil.which(name)
    if found is not None and _is_python(Path(found)):
        return found
    raise LabError(f"There is no file {name}", advice="Name a Python script, or -m and a module")


def _is_python(file: Path) -> bool:
    with file.open("rb") as opened:
        first = opened.readline(200)
    return first.startswith(b"#!") and b"python" in first
