"""Removes temporary files that a worker could not remove, because it was killed.

Such a file has the worker's mark (`descendants`) in its name. A process id in its place would not
do: ids are used again, and another container that shares the temporary folder has other ones.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path


def remove_marked_files(mark: str) -> None:
    """Remove the files with the mark in the temporary folder, and their bytecode."""
    folder = Path(tempfile.gettempdir())
    for parent in (folder, folder / "__pycache__"):
        for file in parent.glob(f"*{mark}*"):
            with contextlib.suppress(OSError):
                file.unlink()
