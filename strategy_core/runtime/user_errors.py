"""Mistakes in a user's file, told in one sentence with file and line instead of a traceback."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strategy_core.runtime.error_message import cause
from strategy_lab.profiles.errors import LabError, SpecError


@contextmanager
def explained(path: Path, rule: str, details: str = "", advice: str = "") -> Iterator[None]:
    """Turn whatever the code of `path` raises into a SpecError that names file and line.

    `details` are told after what it raised.
    """
    try:
        yield
    except (LabError, MemoryError):  # a full machine is no mistake of the file
        raise
    except SyntaxError as error:
        where = f"{error.filename}:{error.lineno}"
        raise SpecError(rule, f"{where}: {error.msg}", field="workload") from error
    except (Exception, SystemExit) as error:  # a script's exit() is a mistake in a workload
        received = said(path, error).removesuffix(".") + details
        raise SpecError(rule, received, advice, field="workload") from error


def said(path: Path, error: BaseException) -> str:
    """Where in the user's file an error came from, and what it says."""
    return f"{_where(path, error)}: {_said(error)}"


def _where(path: Path, error: BaseException) -> str:
    """The innermost line of the user's own file that led to the error."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    if not lines:  # TensorFlow's own errors, and Python's in a data set, have it in their text
        lines = re.findall(rf'File "{re.escape(str(path))}", line (\d+)', str(error))
    return f"{path}:{lines[-1]}" if lines else str(path)


def _said(error: BaseException) -> str:
    """Type and the one line of the message that counts: TensorFlow's go on for pages."""
    has_words = bool(str(error).strip())
    return f"{type(error).__name__}: {cause(error)}" if has_words else type(error).__name__
