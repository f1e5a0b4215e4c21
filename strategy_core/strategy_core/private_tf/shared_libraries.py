"""TensorFlow's shared libraries, called by ctypes, which does not hold Python's lock meanwhile."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import tensorflow as tf

_FILES = (
    "libtensorflow_framework.so.2",
    "libtensorflow_cc.so.2",
    "libtensorflow_framework.2.dylib",
    "libtensorflow_cc.2.dylib",
)


@cache
def that_exports(name: str) -> Any:
    """Return the library that exports the function `name`; None if none of them does.

    Which library has a function differs between releases and systems.
    """
    for file in _FILES:
        try:
            library = ctypes.CDLL(str(Path(tf.__file__).parent / file))
            library[name]  # not kept: each caller declares the types of a function of its own
        except (OSError, AttributeError):
            continue
        return library
    return None
