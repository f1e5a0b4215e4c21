"""Runs in a traced Python process before the program: Python's `site` imports it by this name.

It removes its own folder from `sys.path` and runs the `sitecustomize` that Python would have
found without it. The line that `strategy-lab attach --install` writes runs it as a file.
"""

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_CORE = "strategy_core"


def own_package(program_folder: str | None) -> str | None:
    """The program's own `strategy_core`, which hides the lab's: one process cannot hold both."""
    origin = _found_from(program_folder)
    return None if origin == str(_HERE.parents[1] / "__init__.py") else origin


def _found_from(program_folder: str | None) -> str | None:
    spec = PathFinder.find_spec(_CORE, [*([program_folder] if program_folder else []), *sys.path])
    return os.path.realpath(spec.origin) if spec is not None and spec.origin else None


def _program_folder() -> str | None:
    """What Python puts in front of `sys.path`, which it does only after `site`."""
    if sys.flags.safe_path:  # as in the lab's own child processes
        return None
    program = Path(sys.argv[0] if sys.argv else "")
    if str(program) in ("-c", "-m", "-", "."):
        return str(Path.cwd())
    return str(program if program.is_dir() else program.resolve().parent)


def _begin(entry: str) -> None:
    folder = _program_folder()
    if _found_from(folder) is None:
        return  # another Python, which does not have the lab
    if own := own_package(folder):
        reason = f"the program's own {_CORE} ({own}) has the name of the lab's package"
        print(f"strategy-lab: this process is not recorded: {reason}", file=sys.stderr)
        return
    startup = import_module("strategy_core.tracing.startup")
    getattr(startup, entry)()


def _run_the_other() -> None:
    spec = PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = sys.modules[__name__]
    module.__spec__, module.__file__ = spec, spec.origin
    spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _HERE]
    _begin("start")
    _run_the_other()
elif __name__ == "strategy_lab_waits":
    _begin("wait")
