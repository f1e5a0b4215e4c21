"""Lines of the lab's own on the standard error of a traced program."""

from __future__ import annotations

import contextlib
import sys


def say(text: str) -> None:
    """Print a line on the standard error, if anyone can read it.

    A program may be started with its standard error closed: `print` would then use the standard
    output.
    """
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"strategy-lab: {text}", file=sys.stderr, flush=True)
