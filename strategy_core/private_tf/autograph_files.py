"""The source files that AutoGraph leaves in the temporary folder.

AutoGraph writes each function that it converts into a file, imports it, and removes the file in an
`atexit` handler. A worker ends by `os._exit`, because TensorFlow's other handlers take seconds, so
it removes these files itself. No public API names them: a generated module has the name of its file
and stays in `sys.modules`. They are needed until the end, for the lines of tracebacks.
"""

from __future__ import annotations

import contextlib
import sys
from importlib.util import cache_from_source
from pathlib import Path

PREFIX = "__autograph_generated_file"


def remove_generated_files() -> None:
    """Remove the files of the functions that this process has converted, and their bytecode."""
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) if name.startswith(PREFIX) else None
        if path is not None:
            for file in (path, cache_from_source(path)):
                with contextlib.suppress(OSError):
                    Path(file).unlink()
