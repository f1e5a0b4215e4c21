"""Finds the line of the program that an error came from."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from strategy_core.private_tf import autograph_files, error_texts
from strategy_core.runtime.library_files import is_program_file
from strategy_core.runtime.source_place import source_place


def place_of_error(error: BaseException) -> str:
    """Return the program's innermost line, as `source_place` names it; empty if none is known.

    TensorFlow's message has the stack that made the op that failed, and that of Python in an op.
    The traceback has the call that ran the graph, which is further out, and AutoGraph's files.
    """
    for stack in (_in_message(error), _in_traceback(error)):
        own = [(path, line) for path, line in stack if _is_written(path)]
        if own:
            path, line = own[-1]
            return source_place(path, line)
    return ""


def _is_written(path: str) -> bool:
    return is_program_file(path) and autograph_files.PREFIX not in path


def _in_message(error: BaseException) -> Iterator[tuple[str, int]]:
    for match in error_texts.FRAME.finditer(str(error)):
        yield match["path"], int(match["line"])


def _in_traceback(error: BaseException) -> Iterator[tuple[str, int]]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield frame.f_code.co_filename, line
