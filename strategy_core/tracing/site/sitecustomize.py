"""Runs in a traced Python process before the program: Python's `site` imports it by this name.

It removes its own folder from `sys.path` and runs the `sitecustomize` that Python would have
found without it.
"""

import sys
from importlib.machinery import PathFinder
from pathlib import Path

_HERE = Path(__file__).resolve().parent


def _run_the_other() -> None:
    found = PathFinder.find_spec("sitecustomize")
    if found is None or found.loader is None:
        return
    module = sys.modules[__name__]
    module.__spec__, module.__file__ = found, found.origin
    found.loader.exec_module(module)


def _start() -> None:
    from importlib.util import find_spec

    if find_spec("strategy_lab") is None:  # a checkout that is not installed
        sys.path.append(str(_HERE.parents[2]))
    from strategy_lab.renamed_core import import_core

    import_core("tracing.startup").start()


sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _HERE]
_start()
_run_the_other()
