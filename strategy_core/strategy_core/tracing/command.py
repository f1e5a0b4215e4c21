"""The command that a traced program is started with: Python itself, told to load the lab first."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from strategy_core.tracing.settings import Settings
from strategy_core.tracing.site.sitecustomize import own_package
from strategy_profiles.errors import LabError
from strategy_profiles.guards import open_file

_SITE = Path(__file__).resolve().parent / "site"


def python_command(
    program: Sequence[str], module: Sequence[str] | None, code: Sequence[str] | None
) -> list[str]:
    """The command line of the program, as a person would write it for Python.

    Raises LabError if there is no such program, or it has a `strategy_core` of its own.
    """
    if module is not None:
        _refuse_own_package(Path.cwd())
        return [sys.executable, "-m", *module, *program]
    if code is not None:
        _refuse_own_package(Path.cwd())
        return [sys.executable, "-c", *code, *program]
    if not program:
        raise LabError(
            "No program was named",
            advice="Write strategy-lab trace script.py, -m MODULE or -c CODE",
        )
    script = _script(program[0])
    path = Path(script).resolve()
    _refuse_own_package(path if path.is_dir() else path.parent)
    return [sys.executable, script, *program[1:]]


def _refuse_own_package(folder: Path) -> None:
    own = own_package(None if os.environ.get("PYTHONSAFEPATH") else str(folder))
    if own is not None:
        raise LabError(
            f"The program's own strategy_core ({own}) has the name of the lab's package",
            advice="Rename it, because a process cannot import both",
        )


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
    program = shutil.which(name)
    if program is not None and _is_python(Path(program)):
        return program
    raise LabError(f"There is no file {name}", advice="Name a Python script, or -m and a module")


def _is_python(file: Path) -> bool:
    with open_file(file) as opened:
        first = opened.readline(200)
    return first.startswith(b"#!") and b"python" in first
