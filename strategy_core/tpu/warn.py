"""Warnings about programs that run on the emulation but would not run on a TPU."""

from __future__ import annotations

import warnings


class TPUProgramWarning(UserWarning):
    """A program does what a TPU would refuse, or do otherwise."""


def warn(message: str) -> None:
    """Warn once from each place of the program."""
    warnings.warn(message, TPUProgramWarning, stacklevel=4)
