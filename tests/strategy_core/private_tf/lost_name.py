"""What a module says that needs a private name which TensorFlow has no more."""

from __future__ import annotations

import subprocess
import sys


def said_without(module: str, name: str, users: str) -> str:
    """What importing `users` raises where a module lacks a name; the lab's own modules import."""
    program = (
        f"import importlib, tensorflow\n"
        f"del importlib.import_module({module!r}).__dict__[{name!r}]\n"
        f"import strategy_core.training.trainer, strategy_core.worker.main\n"
        f"from strategy_profiles.errors import LabError\n"
        f"try:\n    importlib.import_module({users!r})\n"
        f"except LabError as error:\n    print(error)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.stdout, ended.stderr[-2000:]
    return ended.stdout
