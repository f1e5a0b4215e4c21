"""The source files that AutoGraph leaves in the temporary folder.

AutoGraph writes each function that it converts into a file, imports it, and removes the file in an
`atexit` handler. A worker ends by `os._exit`, because TensorFlow's other handlers take seconds, so
it removes these files itself. No public API names them: a generated module has the name of its file
and stays in `sys.modules`. They are needed until the end, for the lines of tracebacks.

A worker that is killed removes nothing. Its launcher does, by a mark in the names of the files
(`strategy_core.processes.descendants`). AutoGraph has no option for these names.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from importlib.util import cache_from_source
from pathlib import Path
from types import SimpleNamespace
from typing import Any

PREFIX = "__autograph_generated_file"


def name_generated_files(mark: str) -> None:
    """Put `mark` into the names of the files that this process will write."""
    from tensorflow.python.autograph.pyct import loader

    original: Callable[..., Any] = tempfile.NamedTemporaryFile

    def named(*args: Any, prefix: str = "", **options: Any) -> Any:
        return original(*args, prefix=f"{prefix}{mark}", **options)

    loader.tempfile = SimpleNamespace(**vars(tempfile) | {"NamedTemporaryFile": named})


def remove_generated_files() -> None:
    """Remove the files of the functions that this process has converted, and their bytecode."""
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) if name.startswith(PREFIX) else None
        if path is not None:
            for file in (path, cache_from_source(path)):
                with contextlib.suppress(OSError):
                    Path(file).unlink()


def written_line(file: str, line: int) -> tuple[str, int] | None:
    """Return the line of the program that a line of a generated file was made of; None if unknown.

    TensorFlow maps the stack of each op while it converts the function that the op is in. Functions
    that `MirroredStrategy.run` calls in a thread of each replica keep the lines of the generated
    file. The source maps are in AutoGraph's cache of converted functions.
    """
    from tensorflow.python.autograph.impl import api
    from tensorflow.python.autograph.pyct.origin_info import LineLocation

    for converted in list(api._TRANSPILER._cache._cache.values()):
        for factory in list(converted.values()):
            if factory.module.__file__ == file:
                origin = factory.source_map.get(LineLocation(file, line))
                return (origin.loc.filename, origin.loc.lineno) if origin else None
    return None
