"""A line of the program as people name it: `train.py:12`, in a notebook `cell In[3], line 2`."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from strategy_core.runtime.library_files import is_program_file


def source_place(path: str, line: int) -> str:
    """Return the name of a line. A cell's file has a name that IPython makes up, a hash."""
    cell = _cell(path)
    return f"cell {cell}, line {line}" if cell else f"{path.rpartition('/')[2]}:{line}"


def place_of_program(frame: FrameType | None) -> str:
    """Return the name of the program's line that led to a frame; empty if there is none."""
    while frame is not None and not is_program_file(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else source_place(frame.f_code.co_filename, frame.f_lineno)


def _cell(path: str) -> str | None:
    """Return `In[3]` if a running IPython compiled the file from that cell."""
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)
    cell = named(path) if named else None
    return str(cell[1]) if cell else None
