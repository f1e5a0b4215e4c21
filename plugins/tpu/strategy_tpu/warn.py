"""Warnings about TPU programs that run on emulated cores but would not run on a TPU."""

from __future__ import annotations

import warnings


class TPUProgramWarning(UserWarning):
    """A TPU would refuse this program, or behave differently."""


def warn(message: str) -> None:
    """Warn once per line of the program."""
    warnings.warn(message, TPUProgramWarning, stacklevel=4)
