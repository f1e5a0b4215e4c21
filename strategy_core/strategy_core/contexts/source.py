"""Find the line of the user's program that made a call, also through AutoGraph's generated code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import FrameType

from strategy_core.private_tf import contexts as private_tf
from strategy_core.runtime.library_files import is_library_file

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the user's program; `file` is "" if no user code is on the stack."""

    file: str
    line: int
    function: str


NOWHERE = Line("", 0, "")


def callers_line(known: private_tf.SourceMap) -> Line:
    """The innermost line on this thread's stack that is in neither a library nor the tracer.

    `known` maps AutoGraph's generated lines to the user's. It is collected where replicas start,
    and grows here.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file, line, function = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        if "__autograph_generated_file" in file:
            if (file, line) not in known:  # looked up once: this thread's map is large
                known |= private_tf.source_map()
            place = known.setdefault((file, line), ("<generated>", 0, ""))
            file, line, function = place
        if is_users(file):
            return Line(file, line, function)
        frame = frame.f_back
    return NOWHERE


@lru_cache(maxsize=4096)
def is_users(file: str) -> bool:
    """Whether a source file is the user's: not standard library, installed package or the lab."""
    if file.startswith("<"):
        return False
    path = Path(file).resolve()
    return path.parent != _HERE and not is_library_file(str(path))
