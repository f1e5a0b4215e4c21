"""The line of the user's program that created an op."""

from __future__ import annotations

import linecache
import sysconfig
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import keras
import tensorflow as tf

_ENGINE = Path(__file__).parents[2]
_LIBRARIES = tuple(
    f"{folder}/"
    for folder in (
        Path(tf.__file__).parent,
        Path(keras.__file__).parent,
        _ENGINE,
        *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
    )
)
"""Code that is not the user's: TensorFlow, Keras, the lab, and all installed packages."""

_WORKLOADS = f"{_ENGINE / 'workloads'}/"

_MARKS = f"{_ENGINE / 'recorder' / 'marks.py'}"


class SourceLine(NamedTuple):
    file: str | None
    line: int | None
    code: str | None


@cache
def is_library(file: str) -> bool:
    """Whether a file belongs to a library or the lab."""
    if file.startswith(_WORKLOADS):
        return False
    return file.startswith((*_LIBRARIES, "<")) or "/tmp/__autograph_generated_file" in file


def is_measurement(op: Any) -> bool:
    """Whether an op computes or joins the recorder's timestamps, and is not part of the program."""
    if any(frame.filename == _MARKS for frame in op.traceback or ()):
        return True
    return bool(op.inputs) and all(tensor.op.type == "Timestamp" for tensor in op.inputs)


def line_of(op: Any) -> SourceLine:
    """Innermost frame of the user's own code on the stack that created `op`."""
    for frame in reversed(list(op.traceback)) if op is not None and op.traceback else []:
        if not is_library(frame.filename):
            # AutoGraph puts the program's file and line into the frames of what it generated, and
            # no text.
            code = frame.line or linecache.getline(frame.filename, frame.lineno)
            return SourceLine(frame.filename, frame.lineno, code.strip() or None)
    return SourceLine(None, None, None)
