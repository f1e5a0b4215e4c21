"""Reports errors in a user's file in one sentence with file and line, instead of a traceback."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from strategy_core.private_tf.error_texts import NO_TENSORBOARD
from strategy_core.runtime.error_message import type_and_cause
from strategy_profiles.errors import LabError, SpecError


@contextmanager
def explained(path: Path, what: str, advice: str = "") -> Iterator[None]:
    """Turn an exception of the code in `path` into a SpecError: `what` raised it, in which line."""
    try:
        yield
    except (LabError, MemoryError):  # running out of memory is not a mistake in the file
        raise

    except (Exception, SystemExit) as error:  # a script's exit() is a mistake in a workload
        problem = f"{what} raised {message_with_line(path, error)}"
        if NO_TENSORBOARD in str(error):
            advice = "Install it with: pip install tensorboard"
        raise SpecError(problem, advice=advice, field="workload") from error


def message_with_line(path: Path, error: BaseException) -> str:
    """Return `ValueError: message (line 12)`, by the line of the user's file that it came from."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    # TensorFlow's own errors, and Python's inside a data set, have the location in their text
    if not lines:
        lines = re.findall(rf'File "{re.escape(str(path))}", line (\d+)', str(error))
    message = type_and_cause(error).removesuffix(".")
    return f"{message} (line {lines[-1]})" if lines else message
