"""Checks, before files are read, whether their data will fit into memory."""

from __future__ import annotations

from pathlib import Path

import psutil

from strategy_profiles.errors import SpecError

_SHARE = 1 / 3
"""Share of the free memory that one copy may take.

The examples exist three times: as read, as the model takes them, and in TensorFlow.
"""
BYTES_PER_CSV_BYTE = 4
"""`0,` is two bytes in a .csv file and eight as a number."""
BYTES_PER_RECORD_BYTE = 4
"""A float of a .tfrecord file is read as a Python number and stored as a 64-bit float."""


def check_fits(path: Path, num_bytes: int) -> None:
    """Raise SpecError if the examples of a file would take more memory than the machine has free.

    `num_bytes` is their size once they are read.
    """
    free = psutil.virtual_memory().available
    if num_bytes > free * _SHARE:
        raise SpecError(
            f"The data {path} takes {_gigabytes(num_bytes)} in memory, more than a third of "
            f"the {_gigabytes(free)} that are free",
            advice="Use a part of it, or read it in a workload file with tf.data",
            field="data",
        )


def _gigabytes(num_bytes: float) -> str:
    return f"{num_bytes / 1e9:,.1f} GB"
